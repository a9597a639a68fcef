package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.nio.channels.Selector;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;

/** Opens the sockets of a device's port. */
public final class PortSockets {

    /** The requested size of a socket's buffers, in bytes. */
    static final int BUFFER = 4 << 20;
    /** Linux raises this to its smallest buffer. */
    private static final int SMALLEST = 1;

    private final boolean isV4;
    private final int buffer;
    private final boolean isNative;
    /** The hosts that send to sockets of Java. */
    private final Peers peers = new Peers();

    /**
     * @param buffer the requested size of the receive buffers in bytes; the system's limit may reduce it
     * @param isNative whether to use sockets of Linux where possible
     */
    PortSockets(boolean isV4, int buffer, boolean isNative) {
        this.isV4 = isV4;
        this.buffer = buffer;
        this.isNative = isNative && Libc.isUsable();
    }

    /** Returns the family of the port's addresses. */
    ProtocolFamily family() {
        return isV4 ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
    }

    /** Opens a socket that does not block, and binds it to an address; several sockets can have one of a group. */
    UdpSocket open(InetSocketAddress at) throws IOException {
        return open(at, buffer);
    }

    /** Opens a socket that only sends. */
    UdpSocket openExit(InetSocketAddress at) throws IOException {
        return open(at, SMALLEST);
    }

    private UdpSocket open(InetSocketAddress at, int receiveBuffer) throws IOException {
        return isNative
                ? new LinuxSocket(isV4, at, receiveBuffer, BUFFER)
                : new JavaSocket(family(), at, receiveBuffer, BUFFER, peers);
    }

    /** Makes a waiter for these sockets. */
    Waiter waiter() throws IOException {
        return isNative ? new LinuxWaiter() : new JavaWaiter();
    }

    /** Keeps the host of an intact datagram. */
    void keep(Peer stranger) {
        peers.keep(stranger);
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

    /** Closes a socket, a selector or a waiter; null for none. */
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
