package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
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
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvEventType;

/**
 * A device: what its open contexts share, which is everything that peers can name. Its state belongs to the engine's
 * lock.
 */
public final class Hca extends DeviceState {

    /** The one partition key, of full members of the default partition (IBA volume 1, 10.9.1.2). */
    public static final int PKEY = 0xffff;
    /** Bytes of the longest message. */
    public static final long MAX_MESSAGE = 1L << 31;
    /** The queue pair number that multicast packets are sent to. */
    private static final int MULTICAST = 0xffffff;

    public final IntMap<Qp> queuePairs = new IntMap<>();
    public final Multicast multicast = new Multicast(this);
    final PeerWindow.All windows = new PeerWindow.All(this);
    private final List<AsyncEvents> contexts = new ArrayList<>();
    private final Gsi gsi = new Gsi(this);
    /** 8 bytes for a value on its way. */
    final MemorySegment scratch = Arena.ofAuto().allocate(Long.BYTES, 8);
    private boolean linkUp = true;
    /** Open contexts, and what else needs the link. */
    private int users;

    /**
     * @param guid node GUID, host order
     * @param mtu bytes, an MTU of RDMA: 256 to 4096
     * @param random gives queue pair numbers, keys and so on
     */
    public Hca(String name, long guid, Engine engine, Gids gids, int mtu, Random random) {
        this(name, guid, engine, gids, mtu, random, Semantics.STRICT, DeviceLimits.DEFAULTS);
    }

    /** The same as strict as is said, and with limits of its own. */
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

    /** Whether packets to an address find their way from here. */
    public boolean leadsTo(long gidHigh, long gidLow) {
        return link.leadsTo(gidHigh, gidLow);
    }

    /** Whether the system would choose this device of those that lead to an address. */
    public boolean isUsualTo(long gidHigh, long gidLow) {
        return link.isUsualTo(gidHigh, gidLow);
    }

    public boolean isUp() {
        return linkUp;
    }

    /** Says that the link went up or down; with the lock. */
    public void setUp(boolean up) {
        if (linkUp != up) {
            linkUp = up;
            int event = up ? IbvEventType.IBV_EVENT_PORT_ACTIVE : IbvEventType.IBV_EVENT_PORT_ERR;
            contexts.forEach(each -> each.raise(event, Limits.PORT));
        }
    }

    /** What was counted at a port, the queue pairs that are there and those that were included. */
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

    /** Raises an event of the device or its port in all open contexts; DEVICE_FATAL ends it. With the lock. */
    public void raise(int event) {
        if (event == IbvEventType.IBV_EVENT_DEVICE_FATAL) {
            breakDown();
            queuePairs.forEach(Qp::toError);
        }
        contexts.forEach(each -> each.raise(event, Limits.PORT));
    }

    /**
     * Raises an event of a queue pair; those that break it take it to the error state. False if there is no such queue
     * pair. With the lock.
     */
    public boolean raise(int number, int event) {
        Qp qp = queuePairs.get(number);
        if (qp != null) {
            qp.events.raise(event, qp.address);
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
     * Opens it for a context that gets its events, and its link if that is not open yet; with the lock. Returns 0 or
     * -errno.
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

    /** Opens the link if that is not open yet; with the lock. Returns 0 or -errno. */
    int hold() {
        int result = users == 0 ? link.open() : 0;
        users += result == 0 ? 1 : 0;
        return result;
    }

    /** Ends one {@link #hold}, and closes the link after the last. */
    void release() {
        if (--users == 0) {
            link.close();
        }
    }

    /** A queue pair number that no other has; 0 and 1 are those of management. */
    public int freshQueuePairNumber() {
        int number;
        do {
            number = random.nextInt(MULTICAST);
        } while (number < 2 || queuePairs.get(number) != null);
        return number;
    }

    /**
     * Takes a packet that came for one of its addresses; with the lock. Whatever is wrong with it, it is only dropped.
     */
    public void take(Packet packet) {
        // Limited members have the upper bit clear and may talk to full ones (IBA volume 1, 10.9.3).
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
            qp.take(packet);
        }
    }
}
