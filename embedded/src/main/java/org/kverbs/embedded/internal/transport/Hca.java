package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.kverbs.embedded.DeviceLimits;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.Semantics;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.objects.DeviceState;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.objects.IntMap;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.XrcDomain;
import org.kverbs.embedded.internal.objects.XrcSrq;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvEventType;

/** A device: what its open contexts share, and everything that peers can name. Guarded by the engine's lock. */
public final class Hca extends DeviceState {

    /** The only partition key: that of full members of the default partition (IBA volume 1, 10.9.1.2). */
    public static final int PKEY = 0xffff;
    /** The length of the longest message in bytes. */
    public static final long MAX_MESSAGE = 1L << 31;
    /** The destination queue pair number of multicast packets. */
    private static final int MULTICAST = 0xffffff;

    public final IntMap<Qp> queuePairs = new IntMap<>();
    /** The work queues, by number. */
    public final IntMap<Wq> workQueues = new IntMap<>();
    /** The shared receive queues of XRC, by number. */
    public final IntMap<XrcSrq> xrcQueues = new IntMap<>();
    /** The XRC domains that contexts share, by what identifies their files. */
    public final Map<Object, XrcDomain> xrcDomains = new HashMap<>();
    public final Multicast multicast = new Multicast(this);
    public final Steering steering = new Steering();
    final PeerWindow.All windows = new PeerWindow.All(this);
    private final List<AsyncEvents> contexts = new ArrayList<>();
    private final Gsi gsi = new Gsi(this);
    /** 8 bytes for a value in transit. */
    final MemorySegment scratch = Arena.ofAuto().allocate(Long.BYTES, 8);
    private boolean linkUp = true;
    /** The number of open contexts and other users of the port. */
    private int users;

    /**
     * @param guid node GUID, host order
     * @param mtu bytes, an MTU of RDMA: 256 to 4096
     * @param random draws queue pair numbers, keys and so on
     */
    public Hca(String name, long guid, Engine engine, Gids gids, int mtu, Random random) {
        this(name, guid, engine, gids, mtu, random, Semantics.STRICT, DeviceLimits.DEFAULTS);
    }

    /** Makes a device with these semantics and limits. */
    public Hca(
            String name,
            long guid,
            Engine engine,
            Gids gids,
            int mtu,
            Random random,
            Semantics semantics,
            DeviceLimits limits) {
        super(name, guid, engine, gids, mtu, random, semantics, limits);
    }

    public Gsi gsi() {
        return gsi;
    }

    /** Tells whether packets from this device can reach an address. */
    public boolean leadsTo(long gidHigh, long gidLow) {
        return link.leadsTo(gidHigh, gidLow);
    }

    /** Tells whether the system would choose this device, of all that lead to an address. */
    public boolean isUsualTo(long gidHigh, long gidLow) {
        return link.isUsualTo(gidHigh, gidLow);
    }

    public boolean isUp() {
        return linkUp;
    }

    /** Sets whether the link is up, and raises an event if that changes; called with the lock held. */
    public void setUp(boolean up) {
        if (linkUp != up) {
            linkUp = up;
            int event = up ? IbvEventType.IBV_EVENT_PORT_ACTIVE : IbvEventType.IBV_EVENT_PORT_ERR;
            contexts.forEach(each -> each.raise(event, Limits.PORT));
        }
    }

    /** Returns the counters of a port, including all queue pairs, present and destroyed. */
    public Map<String, Long> counters(int port) {
        if (port != Limits.PORT) {
            return Map.of();
        }
        engine.enter();
        try {
            var sum = new Counters();
            sum.addAll(counters);
            queuePairs.forEach(each -> sum.addAll(each.counters));
            return sum.ofDevice();
        } finally {
            engine.leave();
        }
    }

    /**
     * Raises an event of the device or its port in all open contexts; DEVICE_FATAL breaks the device. Called with the
     * lock held.
     */
    public void raise(int event) {
        if (event == IbvEventType.IBV_EVENT_DEVICE_FATAL) {
            breakDown();
            queuePairs.forEach(Qp::toError);
            workQueues.forEach(Wq::toError);
        }
        contexts.forEach(each -> each.raise(event, Limits.PORT));
    }

    /**
     * Raises an event of a queue pair; QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR move it to the error state. Returns false
     * if there is no such queue pair. Called with the lock held.
     */
    public boolean raise(int number, int event) {
        Qp qp = queuePairs.get(number);
        if (qp != null) {
            qp.handles.raise(event);
            boolean breaks = event == IbvEventType.IBV_EVENT_QP_FATAL
                    || event == IbvEventType.IBV_EVENT_QP_REQ_ERR
                    || event == IbvEventType.IBV_EVENT_QP_ACCESS_ERR;
            if (breaks) {
                qp.toError();
            }
        }
        return qp != null;
    }

    /**
     * Opens the device for a context, which gets its events, and the port if it is closed; called with the lock held.
     * Returns 0 or -errno.
     */
    public int open(AsyncEvents events) {
        int result = refuse(Operation.OPEN_DEVICE);
        result = result < 0 ? result : hold();
        if (result == 0) {
            contexts.add(events);
        }
        return result;
    }

    /** Ends one {@link #open}. */
    public void close(AsyncEvents events) {
        contexts.remove(events);
        release();
    }

    /** Opens the port if it is closed; called with the lock held. Returns 0 or -errno. */
    int hold() {
        int result = users == 0 ? link.open() : 0;
        users += result == 0 ? 1 : 0;
        return result;
    }

    /** Ends one {@link #hold}; closes the port after the last. */
    void release() {
        if (--users == 0) {
            link.close();
        }
    }

    /** Returns an unused number for a queue pair or a work queue; 0 and 1 belong to management. */
    public int freshQueuePairNumber() {
        int number;
        do {
            number = random.nextInt(MULTICAST);
        } while (number < 2 || queuePairs.get(number) != null || workQueues.get(number) != null);
        return number;
    }

    /** Returns an unused number for a shared receive queue of XRC, 24 bits. */
    public int freshSharedQueueNumber() {
        int number;
        do {
            number = random.nextInt(Psn.MASK + 1);
        } while (xrcQueues.get(number) != null);
        return number;
    }

    /**
     * Takes an Ethernet frame from the network; called with the lock held.
     *
     * @param sender as for {@link Steering#take}
     */
    public void takeFrame(long frame, int length, int sender) {
        if (isUp()) {
            steering.take(frame, length, sender);
        }
    }

    /**
     * Takes a packet that was sent to one of the device's addresses; called with the lock held. A packet that is not
     * valid is dropped.
     */
    public void take(Packet packet) {
        // Limited members have the upper bit clear and may talk to full members (IBA volume 1, 10.9.3).
        if ((packet.pkey & 0x7fff) != (PKEY & 0x7fff)) {
            counters.count(Counter.BAD_PKEY_CNTR);
            return;
        }
        if (packet.destinationQp == MULTICAST) {
            multicast.take(packet);
            return;
        }
        if (packet.destinationQp == Gsi.NUMBER) {
            gsi.take(packet);
            return;
        }
        Qp qp = queuePairs.get(packet.destinationQp);
        if (qp == null) {
            counters.count(Counter.PORT_RCV_ERRORS);
        } else {
            qp.arrivals.take(packet);
        }
    }
}
