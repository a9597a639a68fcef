package org.kverbs.embedded.internal.udp;

import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * The hosts that packets go to and come from, so that one packet after the other to the same host makes no object. Strangers can't make it
 * grow for ever: beyond its size a host is made anew each time.
 */
final class Peers {

    private static final int SIZE = 1 << 12;

    private final @Nullable Peer[] byHash = new Peer[SIZE];
    private int count;

    Peer find(long gidHigh, long gidLow) {
        int slot = slot(hash(gidHigh, gidLow));
        for (Peer peer = byHash[slot]; peer != null; peer = peer.next) {
            if (peer.gidLow == gidLow && peer.gidHigh == gidHigh) {
                return peer;
            }
        }
        return add(slot, Peer.of(gidHigh, gidLow));
    }

    Peer find(InetAddress address) {
        int slot = slot(address.hashCode()); // of which that of an IPv4 address is the address, as ours is
        for (Peer peer = byHash[slot]; peer != null; peer = peer.next) {
            if (peer.address.getAddress().equals(address)) {
                return peer;
            }
        }
        return add(slot, new Peer(address));
    }

    private Peer add(int slot, Peer peer) {
        if (count < SIZE) {
            count++;
            peer.next = byHash[slot];
            byHash[slot] = peer;
        }
        return peer;
    }

    private static int hash(long high, long low) {
        return high == 0 && low >>> 32 == 0xffff
                ? (int) low
                : (int) (high >>> 32) + (int) high + (int) (low >>> 32) + (int) low;
    }

    private static int slot(int hash) {
        int mixed = hash * 0x9E3779B9;
        return (mixed ^ mixed >>> 16) & SIZE - 1;
    }
}
