package org.kverbs.embedded.internal.network;

import java.util.ArrayList;
import java.util.List;
import org.kverbs.embedded.internal.wire.Packet;

/** The addresses to and from which a network loses all packets. */
final class LostAddresses {

    private record Address(long high, long low) {}

    private final List<Address> all = new ArrayList<>();

    void set(long gidHigh, long gidLow, boolean lost) {
        var address = new Address(gidHigh, gidLow);
        all.remove(address);
        if (lost) {
            all.add(address);
        }
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    /** Tells whether a packet has one of the addresses. */
    boolean concern(Packet packet) {
        for (int i = 0; i < all.size(); i++) {
            Address each = all.get(i);
            if (each.low == packet.sourceGidLow && each.high == packet.sourceGidHigh
                    || each.low == packet.destinationGidLow && each.high == packet.destinationGidHigh) {
                return true;
            }
        }
        return false;
    }
}
