package org.kverbs.embedded.internal.device;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.spi.VerbsOpenResult;

/**
 * A device: what its open contexts share, which is everything that peers can name. Its state belongs to the engine's lock.
 */
public final class Hca {

    /** The one partition key, of full members of the default partition (IBA volume 1, 10.9.1.2). */
    public static final int PKEY = 0xffff;
    /** Bytes of the longest message. */
    static final long MAX_MESSAGE = 1L << 31;
    /** The queue pair number that multicast packets are sent to. */
    private static final int MULTICAST = 0xffffff;

    final String name;
    final long guid;
    final Engine engine;
    final Gids gids;
    final Random random;
    final Keys keys;
    final IntMap<Qp> queuePairs = new IntMap<>();
    final Multicast multicast = new Multicast(this);
    private final List<EmbeddedContext> contexts = new ArrayList<>();
    private final int mtu;
    private final Gsi gsi = new Gsi(this);
    private boolean linkUp = true;
    /** Open contexts, and what else needs the link. */
    private int users;
    Link link;
    /** The diagnostics, if they are on. */
    @Nullable Watch watch;

    /**
     * @param guid node GUID, host order
     * @param mtu bytes, an MTU of RDMA: 256 to 4096
     * @param random gives queue pair numbers, keys and so on
     */
    public Hca(String name, long guid, Engine engine, Gids gids, int mtu, Random random) {
        this.name = name;
        this.guid = guid;
        this.engine = engine;
        this.gids = gids;
        this.mtu = mtu;
        this.random = random;
        this.keys = new Keys(random);
        this.link = NoLink.INSTANCE;
    }

    /** Sets what carries its packets from now on; with the lock, or before it is opened. */
    public void connect(Link carrier) {
        this.link = carrier;
    }

    /** Turns the diagnostics on for what is posted from now on; with the lock, or before it is opened. */
    public void watch(Watch diagnostics) {
        this.watch = diagnostics;
    }

    /** A peer reads or writes memory of this side on its own. */
    void touched(long address, long bytes, boolean writes) {
        if (watch != null) {
            watch.touched(address, bytes, writes);
        }
    }

    public String name() {
        return name;
    }

    public long guid() {
        return guid;
    }

    public Gids gids() {
        return gids;
    }

    public Engine engine() {
        return engine;
    }

    public int mtu() {
        return mtu;
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

    /** Opens it, and its link if that is not open yet. */
    public VerbsOpenResult open() {
        engine.enter();
        try {
            int result = hold();
            if (result < 0) {
                return VerbsOpenResult.refused(-result);
            }
            var context = new EmbeddedContext(this);
            contexts.add(context);
            return VerbsOpenResult.of(context);
        } finally {
            engine.leave();
        }
    }

    void forget(EmbeddedContext context) {
        contexts.remove(context);
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
    int freshQueuePairNumber() {
        int number;
        do {
            number = random.nextInt(MULTICAST);
        } while (number < 2 || queuePairs.get(number) != null);
        return number;
    }

    /** Takes a packet that came for one of its addresses; with the lock. Whatever is wrong with it, it is only dropped. */
    public void take(Packet packet) {
        if (packet.destinationQp == MULTICAST) {
            multicast.take(packet);
            return;
        }
        // Limited members have the upper bit clear and may talk to full ones (IBA volume 1, 10.9.3).
        if ((packet.pkey & 0x7fff) != (PKEY & 0x7fff)) {
            return;
        }
        if (packet.destinationQp == Gsi.NUMBER) {
            gsi.take(packet);
            return;
        }
        Qp qp = queuePairs.get(packet.destinationQp);
        if (qp != null) {
            qp.take(packet);
        }
    }
}
