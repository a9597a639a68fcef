package org.kverbs.embedded.internal.udp;

import java.net.InetAddress;
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/**
 * Caches the hosts that packets go to and come from, so that repeated packets of one host allocate no object.
 * Strangers' packets can neither grow the cache nor slow it down: a host has {@value #WAYS} possible places, chosen by
 * a random key, and a new host replaces the least recently used of the four. {@link #find} is for one thread at a
 * time, and so are the other methods together: the hosts of either are their own.
 */
final class Peers {

    /** The number of places that a look-up compares. */
    private static final int WAYS = 4;
    private static final int SET_BITS = 10;

    private final @Nullable Peer[] byAddress = new Peer[WAYS << SET_BITS];
    private final @Nullable Peer[] byGid = new Peer[WAYS << SET_BITS];
    private final long[] keys = new SecureRandom().longs(3).map(key -> key | 1).toArray();

    /** Returns the host with a GID; makes and keeps it if it is not in the cache. */
    Peer find(long gidHigh, long gidLow) {
        int first = first(gidHigh * keys[0] + gidLow * keys[1]);
        for (int i = first; i < first + WAYS; i++) {
            Peer peer = byGid[i];
            if (peer != null && peer.gidLow == gidLow && peer.gidHigh == gidHigh) {
                return moveToFront(byGid, first, i, peer);
            }
        }
        return moveToFront(byGid, first, first + WAYS - 1, Peer.of(gidHigh, gidLow));
    }

    /** Returns the host with an address, or null if it is not in the cache. */
    @Nullable Peer known(InetAddress address) {
        int first = first(address);
        for (int i = first; i < first + WAYS; i++) {
            Peer peer = byAddress[i];
            if (peer != null && peer.address.getAddress().equals(address)) {
                return moveToFront(byAddress, first, i, peer);
            }
        }
        return null;
    }

    /** Keeps a host that is not {@link #known}. Only a host that has sent an intact packet is kept. */
    void keep(Peer peer) {
        int first = first(peer.address.getAddress());
        moveToFront(byAddress, first, first + WAYS - 1, peer);
    }

    /**
     * Returns the first place of an address. A stranger can find IPv6 addresses with equal hash codes: they share their
     * places, and each packet of such a host may allocate an object.
     */
    private int first(InetAddress address) {
        return first(address.hashCode() * keys[2]);
    }

    private static int first(long mixed) {
        return (int) (mixed >>> Long.SIZE - SET_BITS) * WAYS;
    }

    private static Peer moveToFront(@Nullable Peer[] table, int first, int from, Peer peer) {
        for (int i = from; i > first; i--) {
            table[i] = table[i - 1];
        }
        table[first] = peer;
        return peer;
    }
}
