package org.kverbs.embedded.internal.cm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.AddressFamily;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.RdmaAddrinfo;
import org.kverbs.internal.abi.RdmaAddrinfoFlags;
import org.kverbs.internal.abi.RdmaPortSpace;
import org.kverbs.internal.abi.SockaddrIn6;
import org.kverbs.internal.memory.Memory;

/**
 * Finds addresses by host names, as {@code rdma_getaddrinfo} does, with the resolver of the machine. Any thread may use
 * it. A look-up can wait for a name server.
 */
final class AddressNames {

    private static final int SOCKET_ADDRESS = (RdmaAddrinfo.SIZE + 7) & ~7;
    private static final int OTHER_ADDRESS = (SOCKET_ADDRESS + SockaddrIn6.SIZE + 7) & ~7;

    /** The structures that were found and not yet freed. */
    private final Map<Long, MemorySegment> infos = new ConcurrentHashMap<>();

    /**
     * Returns the address of a {@code struct rdma_addrinfo}, -ENOENT for an unknown host, or -EINVAL for a service that
     * is not a port number.
     */
    long find(@Nullable MemorySegment node, @Nullable MemorySegment service, @Nullable MemorySegment hints) {
        int flags = hint(hints, RdmaAddrinfo.AI_FLAGS, 0);
        int portSpace = hint(hints, RdmaAddrinfo.AI_PORT_SPACE, RdmaPortSpace.RDMA_PS_TCP);
        int usual = portSpace == RdmaPortSpace.RDMA_PS_UDP ? IbvQpType.IBV_QPT_UD : IbvQpType.IBV_QPT_RC;
        int type = hint(hints, RdmaAddrinfo.AI_QP_TYPE, usual);
        boolean passive = (flags & RdmaAddrinfoFlags.RAI_PASSIVE) != 0;
        int port = port(service);
        if (port < 0 || node == null && service == null) {
            return -Errno.EINVAL;
        }
        int family = hint(hints, RdmaAddrinfo.AI_FAMILY, 0);
        Address address = node == null ? unnamed(passive, family) : resolve(node.getString(0), flags, family);
        if (address == null) {
            return -Errno.ENOENT;
        }
        MemorySegment info = Arena.ofAuto().allocate(OTHER_ADDRESS + SockaddrIn6.SIZE, 8);
        address.withPort(port).write(info.asSlice(SOCKET_ADDRESS));
        info.set(ValueLayout.JAVA_INT, RdmaAddrinfo.AI_FLAGS, flags);
        info.set(ValueLayout.JAVA_INT, RdmaAddrinfo.AI_FAMILY, address.family());
        info.set(ValueLayout.JAVA_INT, RdmaAddrinfo.AI_QP_TYPE, type);
        info.set(ValueLayout.JAVA_INT, RdmaAddrinfo.AI_PORT_SPACE, portSpace);
        info.set(ValueLayout.JAVA_INT, passive ? RdmaAddrinfo.AI_SRC_LEN : RdmaAddrinfo.AI_DST_LEN, address.size());
        info.set(
                ValueLayout.JAVA_LONG,
                passive ? RdmaAddrinfo.AI_SRC_ADDR : RdmaAddrinfo.AI_DST_ADDR,
                info.address() + SOCKET_ADDRESS);
        if (!passive && hints != null) {
            copySource(hints, info);
        }
        infos.put(info.address(), info);
        return info.address();
    }

    /** Copies the caller's source address from the hints, if there is one. */
    private static void copySource(MemorySegment hints, MemorySegment info) {
        int size = hints.get(ValueLayout.JAVA_INT, RdmaAddrinfo.AI_SRC_LEN);
        if (size > 0 && size <= SockaddrIn6.SIZE) {
            MemorySegment source = Memory.at(hints.get(ValueLayout.JAVA_LONG, RdmaAddrinfo.AI_SRC_ADDR), size);
            info.asSlice(OTHER_ADDRESS).copyFrom(source);
            info.set(ValueLayout.JAVA_INT, RdmaAddrinfo.AI_SRC_LEN, size);
            info.set(ValueLayout.JAVA_LONG, RdmaAddrinfo.AI_SRC_ADDR, info.address() + OTHER_ADDRESS);
        }
    }

    void free(long info) {
        infos.remove(info);
    }

    private static int hint(@Nullable MemorySegment hints, int offset, int otherwise) {
        int value = hints == null ? 0 : hints.get(ValueLayout.JAVA_INT, offset);
        return value == 0 ? otherwise : value;
    }

    private static int port(@Nullable MemorySegment service) {
        try {
            int port = service == null ? 0 : Integer.parseInt(service.getString(0));
            return port > 0xffff ? -1 : port;
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private static Address unnamed(boolean passive, int family) {
        Address any = family == AddressFamily.AF_INET6 ? new Address(0, 0, 0) : Address.ANY;
        return passive ? any : any.loopback();
    }

    private static @Nullable Address resolve(String name, int flags, int family) {
        try {
            boolean numbers = (flags & RdmaAddrinfoFlags.RAI_NUMERICHOST) != 0;
            InetAddress[] found = numbers
                    ? new InetAddress[] {InetAddress.ofLiteral(name)} : InetAddress.getAllByName(name);
            return Arrays.stream(found)
                    .map(each -> Address.of(each, 0))
                    .filter(each -> family == 0 || each.family() == family)
                    .findFirst()
                    .orElse(null);
        } catch (UnknownHostException | IllegalArgumentException e) {
            return null;
        }
    }
}
