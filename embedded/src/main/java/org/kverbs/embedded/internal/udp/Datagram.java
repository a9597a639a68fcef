package org.kverbs.embedded.internal.udp;

import org.jspecify.annotations.Nullable;

/**
 * A datagram that a socket received, or several of one host that the system put together (UDP_GRO of {@code man 7
 * udp}). Mutable and reused.
 */
final class Datagram {

    /** The bytes of the longest UDP datagram, rounded up. */
    static final int MOST = 1 << 16;

    /** Where the bytes go: {@link #MOST} bytes from {@link #offset} on. */
    final Room room;

    int offset;

    /** The bytes of all packets. */
    int length;
    /** The bytes of each packet; the last may be shorter. */
    int packet;

    long sourceHigh;
    long sourceLow;
    int sourcePort;
    /** The received traffic class; 0 if the socket does not show it. */
    int trafficClass;

    /** A host that the socket's {@link Peers} keep if it has sent an intact packet; null if they know it. */
    @Nullable Peer stranger;

    Datagram(Room room) {
        this.room = room;
    }
}
