package org.kverbs.embedded.internal.cm;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Encodes the additions of the RDMA IP CM service to a request (IBA volume 1, annex A11): a service id made of port
 * space and port, and a header before the user's private data with the IP addresses and the source port.
 */
record IpService(Address source, Address destination) {

    /** The size of the header in bytes. */
    static final int HEADER = 36;

    private static final long PREFIX = 0x0000_0000_01L << 24;

    /** @param portSpace {@code enum rdma_port_space}; its lower byte is the IP protocol number */
    static long id(int portSpace, int port) {
        return PREFIX | (portSpace & 0xffL) << 16 | port;
    }

    /** Tells whether a service id is one of the IP CM service. */
    static boolean isId(long service) {
        return service >>> 24 == PREFIX >>> 24;
    }

    /** Returns the lower byte of the port space. */
    static int protocol(long service) {
        return (int) (service >>> 16) & 0xff;
    }

    static int port(long service) {
        return (int) service & 0xffff;
    }

    /** Returns the header and the user's data behind it, padded with zeros to a length. */
    byte[] encode(byte[] data, int length) {
        ByteBuffer b = ByteBuffer.allocate(length);
        b.put((byte) 0).put((byte) (destination.isV4() ? 0x40 : 0x60)).putShort((short) source.port());
        put(b, source);
        put(b, destination);
        return b.put(data).array();
    }

    private static void put(ByteBuffer b, Address address) {
        // An IPv4 address stands in the last 4 bytes, behind zeros.
        b.putLong(address.high()).putLong(address.isV4() ? address.low() & 0xffff_ffffL : address.low());
    }

    /** Reads the header; returns null if it has another version. The destination's port comes from the service id. */
    static @Nullable IpService decode(byte[] privateData, int port) {
        ByteBuffer b = ByteBuffer.wrap(privateData);
        int major = b.get() >>> 4 & 0xf;
        int version = b.get() >>> 4 & 0xf;
        int sourcePort = b.getShort() & 0xffff;
        if (major != 0 || version != 4 && version != 6) {
            return null;
        }
        Address source = get(b, version, sourcePort);
        return new IpService(source, get(b, version, port));
    }

    private static Address get(ByteBuffer b, int version, int port) {
        long high = b.getLong();
        long low = b.getLong();
        return version == 4 ? Address.v4((int) low, port) : new Address(high, low, port);
    }
}
