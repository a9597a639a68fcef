package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Selector;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;

/** Opens the sockets of a device's port. */
public final class PortSockets {

    /** The requested size of a socket's buffers, in bytes. */
    static final int BUFFER = 4 << 20;

    private final boolean isV4;
    private final int buffer;

    /** @param buffer the requested size of the receive buffers in bytes; the system's limit may reduce it */
    PortSockets(boolean isV4, int buffer) {
        this.isV4 = isV4;
        this.buffer = buffer;
    }

    /** Returns the family of the port's addresses. */
    ProtocolFamily family() {
        return isV4 ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
    }

    /** Opens a socket that does not block, and binds it to an address; several sockets can have one of a group. */
    DatagramChannel open(InetSocketAddress at) throws IOException {
        DatagramChannel opened = DatagramChannel.open(family());
        try {
            opened.configureBlocking(false);
            opened.setOption(StandardSocketOptions.SO_RCVBUF, buffer);
            opened.setOption(StandardSocketOptions.SO_SNDBUF, BUFFER);
            SourcePorts.wholly(opened);
            if (at.getAddress().isMulticastAddress()) {
                opened.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            }
            opened.bind(at);
            return opened;
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    /**
     * Returns the network interface of an address. All of 127.0.0.0/8 belongs to the loopback interface, though that
     * lists only 127.0.0.1.
     */
    public static @Nullable NetworkInterface networkInterface(InetAddress address) throws IOException {
        NetworkInterface found = NetworkInterface.getByInetAddress(address);
        return found == null && address.isLoopbackAddress()
                ? NetworkInterface.getByInetAddress(InetAddress.ofLiteral("127.0.0.1"))
                : found;
    }

    /**
     * Returns the reason why a socket could not be made: EMFILE if no file descriptor is left, or else the given errno.
     * The JDK reports the reason only as a text in the system's language, so this method tries to open another
     * descriptor.
     */
    static int reason(int otherwise) {
        try {
            Selector.open().close();
            return otherwise;
        } catch (IOException e) {
            return Errno.EMFILE;
        }
    }

    /** Closes a socket or a selector; null for none. */
    static void close(@Nullable AutoCloseable closeable) {
        try {
            if (closeable != null) {
                closeable.close();
            }
        } catch (Exception e) {
            // The object is closed even if close() throws.
        }
    }
}
