package org.kverbs.embedded.internal.udp;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.wire.Icrc;

/** Holds a host's IP address and GID, which stand for each other (IBA annex A17.4.2). */
final class Peer {

    /** The upper bits of the lower half of the GID of an IPv4 address. */
    static final long MAPPED = 0xffffL << 32;

    final InetSocketAddress address;
    final long gidHigh;
    final long gidLow;
    /** False if the way to the host takes no packets that the system cuts apart. Guarded by the engine's lock. */
    boolean takesBatches = true;

    Peer(InetAddress inet) {
        address = new InetSocketAddress(inet, Icrc.UDP_PORT);
        ByteBuffer bytes = ByteBuffer.wrap(inet.getAddress());
        if (inet instanceof Inet4Address) {
            gidHigh = 0;
            gidLow = MAPPED | Integer.toUnsignedLong(bytes.getInt());
        } else {
            gidHigh = bytes.getLong();
            gidLow = bytes.getLong();
        }
    }

    /** Returns the host with this GID. */
    static Peer of(long gidHigh, long gidLow) {
        byte[] bytes = Gids.isV4(gidHigh, gidLow)
                ? ByteBuffer.allocate(4).putInt((int) gidLow).array()
                : ByteBuffer.allocate(16).putLong(gidHigh).putLong(gidLow).array();
        try {
            return new Peer(InetAddress.getByAddress(bytes));
        } catch (UnknownHostException e) {
            // the array has 4 or 16 bytes, so getByAddress accepts it
            throw new AssertionError("an address of " + bytes.length + " bytes", e);
        }
    }

    boolean isV4() {
        return Gids.isV4(gidHigh, gidLow);
    }
}
