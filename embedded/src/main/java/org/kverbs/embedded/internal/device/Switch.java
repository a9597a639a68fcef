package org.kverbs.embedded.internal.device;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.wire.Packet;

/** Joins the devices of one JVM: a packet has arrived when it was sent, and its payload goes from memory to memory at once. */
public final class Switch {

    private final Engine engine;
    private final List<Hca> devices = new ArrayList<>();

    public Switch(Engine engine) {
        this.engine = engine;
    }

    /** Plugs a device in. */
    public void add(Hca device) {
        engine.enter();
        try {
            devices.add(device);
            device.connect(new Port(device));
        } finally {
            engine.leave();
        }
    }

    private @Nullable Hca find(long gidHigh, long gidLow) {
        for (int i = 0; i < devices.size(); i++) {
            if (devices.get(i).gids.indexOf(gidHigh, gidLow) >= 0) {
                return devices.get(i);
            }
        }
        return null;
    }

    /** Where a device is plugged in. */
    private final class Port implements Link {
        private final Hca device;

        Port(Hca device) {
            this.device = device;
        }

        @Override
        public int open() {
            return 0;
        }

        @Override
        public void send(Packet packet) {
            if (!device.isUp()) {
                return;
            }
            if (Gids.isMulticast(packet.destinationGidHigh, packet.destinationGidLow)) {
                for (int i = 0; i < devices.size(); i++) {
                    deliver(packet, devices.get(i));
                }
                return;
            }
            Hca target = find(packet.destinationGidHigh, packet.destinationGidLow);
            if (target != null) {
                deliver(packet, target);
            }
        }

        private void deliver(Packet packet, Hca target) {
            if (target.isUp()) {
                target.take(packet);
            }
        }

        @Override
        public boolean carriesWholeMessages() {
            return true;
        }

        @Override
        public int window() {
            return 1 << 20;
        }

        @Override
        public void look() {
            // Whatever was sent has arrived.
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
            // It stays plugged in.
        }
    }
}
