package org.kverbs.embedded.internal.cm;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What the RDMA IP CM service adds to a request (IBA volume 1, annex A11): a service id made of port space and port,
 * and a header before the user's private data that says from which IP address and port to which address it goes.
 */
record IpService(Address source, Address destination) {

    /** Bytes of the header. */
    static final int HEADER = 36;

    private static final long PREFIX = 0x0000_0000_01L << 24;

    /** @param portSpace {@code enum rdma_port_space}, whose lower byte is the protocol's number in IP */
    static long id(int portSpace, int port) {
        return PREFIX | (portSpace & 0xffL) << 16 | port;
    }

    /** Whether a service id is of this kind. */
    static boolean isId(long service) {
        return service >>> 24 == PREFIX >>> 24;
    }

    /** The lower byte of the port space. */
    static int protocol(long service) {
        return (int) (service >>> 16) & 0xff;
    }

    static int port(long service) {
        return (int) service & 0xffff;
    }

    /** The header and the user's data behind it, zeros up to a length. */
    byte[] encode(byte[] data, int length) {
        ByteBuffer b = ByteBuffer.allocate(length);
        b.put((byte) 0).put((byte) (destination.isV4() ? 0x40 : 0x60)).putShort((short) source.port());
        put(b, source);
        put(b, destination);
        return b.put(data).array();
    }

    private static void put(ByteBuffer b, Address address) {
        // An IPv4 address stands in the last 4 bytes, zeros before it.
        b.putLong(address.high()).putLong(address.isV4() ? address.low() & 0xffff_ffffL : address.low());
    }

    /** Reads the header; null if it is of another version. The destination's port is that of the service id. */
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
