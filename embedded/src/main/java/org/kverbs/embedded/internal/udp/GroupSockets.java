package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.internal.abi.Errno;

/** The multicast groups that a port has joined, with a socket for each. */
final class GroupSockets {

    private record Group(Peer peer, UdpSocket socket) {}

    private final PortSockets sockets;
    private final Peer self;
    private final List<Group> groups = new CopyOnWriteArrayList<>();

    GroupSockets(PortSockets sockets, Peer self) {
        this.sockets = sockets;
        this.self = self;
    }

    /**
     * Joins a group. Returns 0 or -errno.
     *
     * @param waiting is told of the group's packets; null while the port is closed
     */
    int join(Peer group, @Nullable Waiter waiting) {
        if (group.isV4() != self.isV4()) {
            return -Errno.EINVAL;
        }
        try {
            NetworkInterface network = PortSockets.networkInterface(self.address.getAddress());
            if (network == null) {
                return -Errno.ENODEV;
            }
            // A socket bound to a unicast address gets no multicast packets: the group needs a socket of its own.
            InetAddress at = scoped(group.address.getAddress(), network);
            UdpSocket opened = sockets.open(new InetSocketAddress(at, Icrc.UDP_PORT));
            try {
                opened.join(at, network);
                if (waiting != null) {
                    waiting.add(opened);
                }
            } catch (IOException | RuntimeException e) {
                opened.close();
                throw e;
            }
            groups.add(new Group(group, opened));
            return 0;
        } catch (IOException | IllegalArgumentException e) {
            return -PortSockets.reason(Errno.ENODEV);
        }
    }

    /**
     * Binds a link-local group, such as ff02::1, to one interface: each link has its own group of that address (RFC
     * 4007).
     */
    private static InetAddress scoped(InetAddress group, @Nullable NetworkInterface network) throws IOException {
        return group instanceof Inet6Address && network != null
                ? Inet6Address.getByAddress(null, group.getAddress(), network.getIndex())
                : group;
    }

    /** Leaves a group. */
    void leave(long gidHigh, long gidLow) {
        groups.removeIf(each -> {
            boolean left = each.peer.gidLow == gidLow && each.peer.gidHigh == gidHigh;
            if (left) {
                each.socket.close();
            }
            return left;
        });
    }

    /** Takes the packets of all groups. */
    void take(SocketReceiver receiver) {
        if (groups.isEmpty()) {
            return;
        }
        for (Group group : groups) { // a copy: another thread can leave a group meanwhile
            receiver.take(group.socket, group.peer);
        }
    }

    /** Leaves all groups. */
    void close() {
        groups.forEach(each -> each.socket.close());
        groups.clear();
    }
}
