package org.kverbs.embedded.internal.udp;

import java.net.InetAddress;
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/**
 * The hosts that packets go to and come from, so that one packet after the other to the same host makes no object. What
 * strangers send can neither make it grow nor slow it down: a host has {@value #WAYS} places, which a random key
 * chooses, and a new host takes the place of the one there that was not asked for the longest.
 */
final class Peers {

    /** Places that a look-up compares. */
    private static final int WAYS = 4;
    private static final int SET_BITS = 10;

    private final @Nullable Peer[] byAddress = new Peer[WAYS << SET_BITS];
    private final @Nullable Peer[] byGid = new Peer[WAYS << SET_BITS];
    private final long[] keys = new SecureRandom().longs(3).map(key -> key | 1).toArray();

    /** The host with a GID, made and kept if it is not known. */
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

    /** The host with an address, if it is kept. */
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

    /** Keeps a host that is not {@link #known}; only one that has sent something that is worth it. */
    void keep(Peer peer) {
        int first = first(peer.address.getAddress());
        moveToFront(byAddress, first, first + WAYS - 1, peer);
    }

    /**
     * IPv6 addresses of one hash code are easy to find: they share their places, and a stranger among them costs an
     * object a packet.
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
