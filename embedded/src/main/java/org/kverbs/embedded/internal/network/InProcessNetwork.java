package org.kverbs.embedded.internal.network;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Faults;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.objects.DeviceState;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.objects.PacketPort;
import org.kverbs.embedded.internal.objects.UnpluggedPort;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.embedded.internal.wire.PacketPool;

/**
 * Joins the devices of one JVM. Without faults a packet arrives at the moment it is sent, and its payload goes from
 * memory to memory at once. With faults, packets travel as bytes, each on the {@link FaultyPath} from one device to
 * another.
 */
public final class InProcessNetwork {

    /** The number of packets that can travel at once: a few for each of a thousand busy queue pairs. */
    private static final int ON_THE_WAY = 1 << 14;
    /**
     * The number of packets that can travel to one peer; a queue pair that is alone in using the peer gets 128 of them.
     */
    private static final int WINDOW = 171;
    /**
     * After so many packets to other addresses the usual one of a port changes. Not at once: to store an object costs a
     * GC write barrier, and packets can alternate between two devices.
     */
    private static final int MOST_OTHERS = 16;

    private final Engine engine;
    final Random random;
    final PacketPool pool = new PacketPool(ON_THE_WAY);
    private final List<Port> ports = new ArrayList<>();
    private final LostAddresses lost = new LostAddresses();
    private Faults usual = Faults.NONE;
    private boolean perfect = true;
    long injected;
    private @Nullable Tap tap;

    public InProcessNetwork(Engine engine, Random random) {
        this.engine = engine;
        this.random = random;
    }

    /** Plugs a device in. */
    public void add(Hca device) {
        engine.enter();
        try {
            var port = new Port(device);
            ports.add(port);
            forgetPeers();
            device.connect(port);
        } finally {
            engine.leave();
        }
    }

    /** Cuts a device off for ever. */
    public void remove(Hca device) {
        forgetPeers();
        ports.removeIf(each -> each.device == device);
        device.connect(UnpluggedPort.INSTANCE);
    }

    /** Sets the faults of all ways. */
    public void setFaults(Faults faults) {
        usual = faults;
        perfect = faults.equals(Faults.NONE);
        ports.forEach(port -> port.ways.forEach(way -> way.setFaults(faults)));
    }

    /** Sets the faults of one way. */
    public void setFaults(Hca from, Hca to, Faults faults) {
        for (Port port : ports) {
            if (port.device == from) {
                port.way(to).setFaults(faults);
            }
        }
        perfect = usual.equals(Faults.NONE)
                && ports.stream().flatMap(port -> port.ways.stream()).allMatch(FaultyPath::isPerfect);
    }

    /**
     * Shows all packets to a tap from now on; null ends that. With a tap, packets carry at most the path MTU. Called
     * with the lock held.
     */
    public void setTap(@Nullable Tap by) {
        tap = by;
    }

    void tap(Packet packet) {
        if (tap != null) {
            tap.arrived(packet);
        }
    }

    void tapDamaged(Packet addresses, long bytes, int length, int difference) {
        if (tap != null) {
            tap.arrivedDamaged(addresses, bytes, length, difference);
        }
    }

    /** Tells whether no faults are set and no tap is present. */
    private boolean isShortcut() {
        return perfect && tap == null;
    }

    public long faultsInjected() {
        return injected;
    }

    /** Loses all packets to and from an address from now on, or no longer. */
    public void lose(long gidHigh, long gidLow, boolean all) {
        lost.set(gidHigh, gidLow, all);
    }

    /** Returns the most packets that ever waited for a device. */
    public int longestQueue(Hca device) {
        return queue(device).longest();
    }

    private ReceiverQueue queue(Hca device) {
        for (Port port : ports) {
            if (port.device == device) {
                return port.queue;
            }
        }
        return new ReceiverQueue(); // of a device that was cut off
    }

    private void forgetPeers() {
        ports.forEach(each -> each.peer = null);
    }

    private @Nullable Hca find(long gidHigh, long gidLow) {
        for (int i = 0; i < ports.size(); i++) {
            Hca device = ports.get(i).device;
            if (device.gids.indexOf(gidHigh, gidLow) >= 0) {
                return device;
            }
        }
        return null;
    }

    /** Plugs one device into this network. */
    private final class Port implements PacketPort {
        private final Hca device;
        private final List<FaultyPath> ways = new ArrayList<>();
        private final ReceiverQueue queue = new ReceiverQueue();
        /** A device to which many packets went, and the address that they had; null if there is none. */
        private @Nullable Hca peer;

        private long peerHigh;
        private long peerLow;
        /** The packets to other addresses in a row. */
        private int others;

        Port(Hca device) {
            this.device = device;
        }

        FaultyPath way(Hca to) {
            for (int i = 0; i < ways.size(); i++) {
                if (ways.get(i).target == to) {
                    return ways.get(i);
                }
            }
            var way = new FaultyPath(InProcessNetwork.this, to, queue(to), usual);
            ways.add(way);
            return way;
        }

        @Override
        public int open() {
            return 0;
        }

        @Override
        public void send(Packet packet) {
            if (!device.isUp() || !lost.isEmpty() && lost.concern(packet)) {
                return;
            }
            Hca known = peer;
            if (known != null && peerLow == packet.destinationGidLow && peerHigh == packet.destinationGidHigh) {
                others = 0;
                deliver(packet, known);
            } else {
                sendElsewhere(packet);
            }
        }

        /** Sends a packet to another address than the usual one. */
        private void sendElsewhere(Packet packet) {
            if (Gids.isMulticast(packet.destinationGidHigh, packet.destinationGidLow)) {
                for (int i = 0; i < ports.size(); i++) {
                    deliver(packet, ports.get(i).device);
                }
                return;
            }
            Hca found = find(packet.destinationGidHigh, packet.destinationGidLow);
            if (found == null) {
                return;
            }
            if (others++ == MOST_OTHERS) {
                peer = found;
                peerHigh = packet.destinationGidHigh;
                peerLow = packet.destinationGidLow;
                others = 0;
            }
            deliver(packet, found);
        }

        private void deliver(Packet packet, Hca to) {
            if (!perfect) {
                way(to).send(packet);
            } else if (to.isUp()) {
                tap(packet);
                to.take(packet);
            }
        }

        @Override
        public boolean carriesFrames() {
            return true;
        }

        @Override
        public void sendFrame(long frame, int length, int sender) {
            for (int i = 0; device.isUp() && i < ports.size(); i++) {
                Hca target = ports.get(i).device;
                int self = target == device ? sender : 0;
                if (!perfect) {
                    way(target).sendFrame(frame, length, self);
                } else {
                    target.takeFrame(frame, length, self);
                }
            }
        }

        @Override
        public @Nullable DeviceState neighbour(long gidHigh, long gidLow) {
            if (!isShortcut()) {
                return null;
            }
            Hca known = peer;
            boolean isUsual = known != null && peerLow == gidLow && peerHigh == gidHigh;
            Hca target = isUsual ? known : find(gidHigh, gidLow);
            return target != null && isNeighbour(target) ? target : null;
        }

        @Override
        public boolean isNeighbour(DeviceState other) {
            return isShortcut() && lost.isEmpty() && device.isUp() && other.link instanceof Port port
                    && port.network() == network() && port.device.isUp();
        }

        private InProcessNetwork network() {
            return InProcessNetwork.this;
        }

        @Override
        public boolean leadsTo(long gidHigh, long gidLow) {
            return Gids.isMulticast(gidHigh, gidLow) || find(gidHigh, gidLow) != null;
        }

        @Override
        public boolean isUsualTo(long gidHigh, long gidLow) {
            return true;
        }

        @Override
        public boolean carriesWholeMessages() {
            return isShortcut();
        }

        @Override
        public int window() {
            return isShortcut() ? 1 << 20 : WINDOW;
        }

        @Override
        public void look(boolean waits) {
            // Packets arrive when they are sent, or by their timer.
        }

        @Override
        public boolean catchUp() {
            return true;
        }

        @Override
        public int joinGroup(long gidHigh, long gidLow) {
            return 0;
        }

        @Override
        public void leaveGroup(long gidHigh, long gidLow) {
            // Every device sees every packet of every group.
        }

        @Override
        public void close() {
            // The device stays plugged in.
        }
    }
}
