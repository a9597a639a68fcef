package org.kverbs.embedded.internal.udp;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.BindException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.channels.UnsupportedAddressTypeException;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.internal.abi.AddressFamily;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.memory.Memory;

/**
 * A socket of Linux. One call sends packets that the kernel or the network card cuts out of one run of bytes
 * (UDP_SEGMENT, Linux 4.18), and one call takes packets that the kernel put together (UDP_GRO, Linux 5.0; both in
 * {@code man 7 udp}). It shows the received traffic class, and sends packets with theirs. Over IPv6 it takes packets
 * without a UDP checksum, as Soft-RoCE sends them.
 *
 * <p>The lock of the object is held for each call, so that none uses the number of a descriptor that was closed. No
 * call blocks.
 */
final class LinuxSocket implements UdpSocket {

    private static final int DATAGRAM = 2;
    private static final int CLOEXEC = 0x80000;
    private static final int NONBLOCK = 0x800;

    private static final int SOL_IP = 0;
    private static final int SOL_SOCKET = 1;
    private static final int SOL_UDP = 17;
    private static final int SOL_IPV6 = 41;

    private static final int SO_REUSEADDR = 2;
    private static final int SO_BINDTOIFINDEX = 62;
    private static final int SO_SNDBUF = 7;
    private static final int SO_RCVBUF = 8;
    private static final int IP_TOS = 1;
    private static final int IP_TTL = 2;
    private static final int IP_MTU_DISCOVER = 10;
    private static final int IP_RECVTOS = 13;
    private static final int IP_MULTICAST_IF = 32;
    private static final int IP_ADD_MEMBERSHIP = 35;
    private static final int IP_MULTICAST_ALL = 49;
    private static final int IPV6_MULTICAST_IF = 17;
    private static final int IPV6_ADD_MEMBERSHIP = 20;
    private static final int IPV6_MTU_DISCOVER = 23;
    private static final int IPV6_V6ONLY = 26;
    private static final int IPV6_HOPLIMIT = 52;
    private static final int IPV6_RECVTCLASS = 66;
    private static final int IPV6_TCLASS = 67;
    private static final int UDP_NO_CHECK6_RX = 102;
    private static final int UDP_SEGMENT = 103;
    private static final int UDP_GRO = 104;
    /** Do not fragment: Linux then sends IP identification 0, which the ICRC covers. */
    private static final int PMTUDISC_DO = 2;

    /** The most packets of a call in every Linux that has UDP_SEGMENT. */
    private static final int MOST_PACKETS = 64;

    // struct msghdr, with struct iovec, the address and the control messages behind it.
    private static final int MESSAGE = 56;
    private static final int IOVEC = MESSAGE;
    private static final int NAME = IOVEC + 16;
    private static final int CONTROL = NAME + 32;
    private static final int CONTROL_ROOM = 128;
    private static final int MESSAGE_ROOM = CONTROL + CONTROL_ROOM;
    /** struct cmsghdr: 8 bytes of length, 4 of level, 4 of type. */
    private static final int CONTROL_HEADER = 16;

    private static final int ADDRESS_V4 = 16;
    private static final int ADDRESS_V6 = 28;

    private final Libc calls = new Libc();
    private final boolean isV4;
    private final int port;
    private final Descriptor descriptor;
    private final int mostPackets;
    private final MemorySegment memory = Arena.ofAuto().allocate(2L * MESSAGE_ROOM, 8);
    private final long sending = memory.address();
    private final long receiving = sending + MESSAGE_ROOM;
    private boolean isClosed;

    /**
     * Opens a socket and binds it.
     *
     * @throws UnsupportedOperationException if the system has no IPv6
     * @throws BindException if the address is taken, or is not an address of this machine
     */
    LinuxSocket(boolean isV4, InetSocketAddress at, int receiveBuffer, int sendBuffer) throws IOException {
        this.isV4 = isV4;
        this.port = at.getPort();
        int family = isV4 ? AddressFamily.AF_INET : AddressFamily.AF_INET6;
        int number = calls.socket(family, DATAGRAM | CLOEXEC | NONBLOCK, 0);
        if (number == -Errno.EAFNOSUPPORT) {
            throw new UnsupportedOperationException("this system has no IPv" + (isV4 ? "4" : "6"));
        }
        check("socket", number);
        descriptor = new Descriptor(this, number);
        try {
            prepare(at.getAddress(), receiveBuffer, sendBuffer);
            bind(at);
            mostPackets = canSegment() ? MOST_PACKETS : 1;
        } catch (IOException | RuntimeException e) {
            descriptor.close();
            throw e;
        }
        prepareMessages();
    }

    private static void check(String what, int result) throws IOException {
        if (result < 0) {
            throw new IOException(what + " failed: errno " + -result);
        }
    }

    private void prepare(InetAddress at, int receiveBuffer, int sendBuffer) throws IOException {
        check("SO_RCVBUF", set(SOL_SOCKET, SO_RCVBUF, receiveBuffer));
        check("SO_SNDBUF", set(SOL_SOCKET, SO_SNDBUF, sendBuffer));
        if (isV4) {
            check("IP_MTU_DISCOVER", set(SOL_IP, IP_MTU_DISCOVER, PMTUDISC_DO));
            set(SOL_IP, IP_RECVTOS, 1);
            // Otherwise a group's socket also takes the packets of interfaces where another socket joined the group.
            set(SOL_IP, IP_MULTICAST_ALL, 0);
        } else {
            check("IPV6_V6ONLY", set(SOL_IPV6, IPV6_V6ONLY, 1));
            check("IPV6_MTU_DISCOVER", set(SOL_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO));
            set(SOL_IPV6, IPV6_RECVTCLASS, 1);
            set(SOL_UDP, UDP_NO_CHECK6_RX, 1);
        }
        set(SOL_UDP, UDP_GRO, 1);
        if (at.isMulticastAddress()) {
            check("SO_REUSEADDR", set(SOL_SOCKET, SO_REUSEADDR, 1));
            if (at instanceof Inet6Address group && group.getScopeId() > 0) {
                // Linux gives an IPv6 group's packets of any interface to each socket that joined on one. A process
                // without privileges may bind a socket to its interface from Linux 5.7 on.
                set(SOL_SOCKET, SO_BINDTOIFINDEX, group.getScopeId());
            }
        }
    }

    private int set(int level, int name, int value) {
        Memory.putInt(sending, value);
        return calls.setOption(descriptor.number, level, name, sending, Integer.BYTES);
    }

    private void bind(InetSocketAddress at) throws IOException {
        int length = putAddress(sending, at);
        int result = calls.bind(descriptor.number, sending, length);
        if (result == -Errno.EADDRINUSE || result == -Errno.EADDRNOTAVAIL) {
            throw new BindException("bind failed: errno " + -result);
        }
        check("bind", result);
    }

    private int putAddress(long to, InetSocketAddress address) throws IOException {
        MemorySegment bytes = memory.asSlice(to - memory.address(), ADDRESS_V6).fill((byte) 0);
        Memory.putShort(to, (short) (isV4 ? AddressFamily.AF_INET : AddressFamily.AF_INET6));
        Memory.putShort(to + 2, networkOrder(address.getPort()));
        byte[] host = address.getAddress().getAddress();
        if (host.length != (isV4 ? 4 : 16)) {
            throw new UnsupportedAddressTypeException();
        }
        MemorySegment.copy(host, 0, bytes, JAVA_BYTE, isV4 ? 4 : 8, host.length);
        if (address.getAddress() instanceof Inet6Address scoped) {
            Memory.putInt(to + 24, scope(scoped));
        }
        return isV4 ? ADDRESS_V4 : ADDRESS_V6;
    }

    /** Linux binds a link-local address only together with the interface that has it. */
    private static int scope(Inet6Address address) throws IOException {
        if (!address.isLinkLocalAddress() || address.getScopeId() != 0) {
            return address.getScopeId();
        }
        NetworkInterface network = PortSockets.networkInterface(address);
        if (network == null) {
            throw new BindException("no network interface has the address " + address.getHostAddress());
        }
        return network.getIndex();
    }

    private static short networkOrder(int number) {
        return Short.reverseBytes((short) number);
    }

    /** An older kernel sends all packets as one: it does not know the control message. */
    private boolean canSegment() {
        Memory.putInt(sending + 8, Integer.BYTES);
        return calls.getOption(descriptor.number, SOL_UDP, UDP_SEGMENT, sending, sending + 8) >= 0;
    }

    private void prepareMessages() {
        memory.fill((byte) 0);
        for (long message = sending; message <= receiving; message += MESSAGE_ROOM) {
            Memory.putLong(message, message + NAME);
            Memory.putLong(message + 16, message + IOVEC);
            Memory.putLong(message + 24, 1);
            Memory.putLong(message + 32, message + CONTROL);
        }
        Memory.putShort(sending + NAME, (short) (isV4 ? AddressFamily.AF_INET : AddressFamily.AF_INET6));
        Memory.putShort(sending + NAME + 2, networkOrder(Icrc.UDP_PORT));
        Memory.putInt(sending + 8, nameLength());
    }

    /** Returns the number of the descriptor, for a {@link LinuxWaiter}. */
    int number() {
        return descriptor.number;
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public synchronized int receiveBuffer() throws IOException {
        requireOpen();
        long value = receiving + CONTROL;
        Memory.putInt(value + 8, Integer.BYTES);
        check("SO_RCVBUF", calls.getOption(descriptor.number, SOL_SOCKET, SO_RCVBUF, value, value + 8));
        return Memory.getInt(value) / 2; // Linux doubles the size for its own data, and reports the double
    }

    @Override
    public int mostPackets() {
        return mostPackets;
    }

    @Override
    public synchronized int send(Peer to, int trafficClass, int multicastHops, Room from, int offset, int length,
            int packet) {
        if (isClosed) {
            return -Errno.EBADF;
        }
        putDestination(to);
        boolean isPlain = length <= packet && trafficClass == 0 && multicastHops == 0;
        if (!isPlain) {
            putMessage(trafficClass, multicastHops, from.address + offset, length, packet);
        }
        int result;
        do {
            result = isPlain // which takes less time
                    ? calls.sendTo(descriptor.number, from.address + offset, length, sending + NAME, nameLength())
                    : calls.sendMessage(descriptor.number, sending);
        } while (Libc.isInterrupted(result));
        return Math.min(result, 0);
    }

    private int nameLength() {
        return isV4 ? ADDRESS_V4 : ADDRESS_V6;
    }

    private void putMessage(int trafficClass, int multicastHops, long from, int length, int packet) {
        Memory.putLong(sending + IOVEC, from);
        Memory.putLong(sending + IOVEC + 8, length);
        long end = sending + CONTROL;
        if (length > packet) {
            end = control(end, SOL_UDP, UDP_SEGMENT, Short.BYTES, packet);
        }
        if (trafficClass != 0) {
            end = control(end, isV4 ? SOL_IP : SOL_IPV6, isV4 ? IP_TOS : IPV6_TCLASS, Integer.BYTES, trafficClass);
        }
        if (multicastHops != 0) {
            end = control(end, isV4 ? SOL_IP : SOL_IPV6, isV4 ? IP_TTL : IPV6_HOPLIMIT, Integer.BYTES, multicastHops);
        }
        Memory.putLong(sending + 40, end - sending - CONTROL);
    }

    private void putDestination(Peer to) {
        long name = sending + NAME;
        if (isV4) {
            Memory.putInt(name + 4, Integer.reverseBytes((int) to.gidLow));
        } else {
            Memory.putLong(name + 8, Long.reverseBytes(to.gidHigh));
            Memory.putLong(name + 16, Long.reverseBytes(to.gidLow));
        }
    }

    /** Writes a control message. Returns where the next one begins. */
    private static long control(long at, int level, int type, int length, int value) {
        Memory.putLong(at, CONTROL_HEADER + length);
        Memory.putInt(at + 8, level);
        Memory.putInt(at + 12, type);
        Memory.putLong(at + CONTROL_HEADER, value);
        return at + CONTROL_HEADER + Long.BYTES;
    }

    @Override
    public synchronized boolean receive(Datagram into) {
        if (isClosed) {
            return false;
        }
        Memory.putLong(receiving + IOVEC, into.room.address + into.offset);
        Memory.putLong(receiving + IOVEC + 8, Datagram.MOST);
        Memory.putInt(receiving + 8, ADDRESS_V6);
        Memory.putLong(receiving + 40, CONTROL_ROOM);
        int length = calls.receiveMessage(descriptor.number, receiving);
        if (length < 0) {
            return false;
        }
        into.length = length;
        into.packet = length;
        into.trafficClass = 0;
        readSource(into);
        readControl(into);
        return true;
    }

    private void readSource(Datagram into) {
        long name = receiving + NAME;
        into.sourcePort = Short.toUnsignedInt(networkOrder(Memory.getShort(name + 2)));
        if (isV4) {
            into.sourceHigh = 0;
            into.sourceLow = Peer.MAPPED | Integer.toUnsignedLong(Integer.reverseBytes(Memory.getInt(name + 4)));
        } else {
            into.sourceHigh = Long.reverseBytes(Memory.getLong(name + 8));
            into.sourceLow = Long.reverseBytes(Memory.getLong(name + 16));
        }
    }

    private void readControl(Datagram into) {
        long end = receiving + CONTROL + Memory.getLong(receiving + 40);
        long length;
        for (long at = receiving + CONTROL; at + CONTROL_HEADER < end; at += length + 7 & -8) {
            length = Memory.getLong(at);
            int level = Memory.getInt(at + 8);
            int type = Memory.getInt(at + 12);
            if (level == SOL_UDP && type == UDP_GRO) {
                int packet = Memory.getInt(at + CONTROL_HEADER);
                into.packet = packet > 0 ? packet : into.length;
            } else if (level == SOL_IP && type == IP_TOS || level == SOL_IPV6 && type == IPV6_TCLASS) {
                into.trafficClass = Byte.toUnsignedInt(Memory.getByte(at + CONTROL_HEADER));
            }
        }
    }

    // Both use the place of a received address for the option, as no call receives meanwhile.

    @Override
    public synchronized void setMulticastInterface(NetworkInterface network) throws IOException {
        requireOpen();
        long option = receiving + NAME;
        int result;
        if (isV4) {
            memory.asSlice(option - memory.address(), 12).fill((byte) 0); // struct ip_mreqn
            Memory.putInt(option + 8, network.getIndex());
            result = calls.setOption(descriptor.number, SOL_IP, IP_MULTICAST_IF, option, 12);
        } else {
            Memory.putInt(option, network.getIndex());
            result = calls.setOption(descriptor.number, SOL_IPV6, IPV6_MULTICAST_IF, option, Integer.BYTES);
        }
        check("the choice of the interface of multicast packets", result);
    }

    @Override
    public synchronized void join(InetAddress group, NetworkInterface network) throws IOException {
        requireOpen();
        long option = receiving + NAME;
        byte[] address = group.getAddress();
        int length = isV4 ? 12 : 20; // struct ip_mreqn, struct ipv6_mreq
        MemorySegment bytes = memory.asSlice(option - memory.address(), length).fill((byte) 0);
        MemorySegment.copy(address, 0, bytes, JAVA_BYTE, 0, address.length);
        Memory.putInt(option + length - Integer.BYTES, network.getIndex());
        int result = isV4
                ? calls.setOption(descriptor.number, SOL_IP, IP_ADD_MEMBERSHIP, option, length)
                : calls.setOption(descriptor.number, SOL_IPV6, IPV6_ADD_MEMBERSHIP, option, length);
        check("joining " + group.getHostAddress(), result);
    }

    private void requireOpen() throws IOException {
        if (isClosed) {
            throw new IOException("the socket is closed");
        }
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        descriptor.close();
    }
}
