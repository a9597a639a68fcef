package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;

/**
 * Holds the sockets by which packets leave a device. Networks spread RoCEv2 traffic by the UDP source port, and a
 * socket has one port. So there are up to {@value #COUNT} sockets, each opened when it is first needed, and all packets
 * of a connection leave by the same socket. These sockets receive nothing. Called with the engine's lock held.
 */
final class SourcePorts {

    private static final int COUNT = 16;
    /** The first of the 0x4000 source ports of RoCEv2 (IBA annex A17.4.8). */
    private static final int FIRST = 0xc000;
    /** How many ports are tried before packets leave from port {@value Icrc#UDP_PORT}. */
    private static final int TRIES = 16;
    private final Peer self;
    private final PortSockets sockets;
    private final @Nullable UdpSocket[] exits = new UdpSocket[COUNT];
    private @Nullable UdpSocket usual;
    private @Nullable NetworkInterface network;

    SourcePorts(PortSockets sockets, Peer self) {
        this.sockets = sockets;
        this.self = self;
    }

    /** @param socket the receiving socket; packets leave by it if no other socket can be opened */
    void open(UdpSocket socket, @Nullable NetworkInterface groups) {
        usual = socket;
        network = groups;
    }

    /** Returns the socket for a packet; null if the device is closed. */
    @Nullable UdpSocket of(Packet packet) {
        if (usual == null) {
            return null;
        }
        // Connections with different traffic classes get different sockets where possible, which saves system calls.
        int mixed = (packet.sourcePort ^ packet.trafficClass << 2) * 0x9E3779B9;
        int index = mixed >>> Integer.SIZE - Integer.numberOfTrailingZeros(COUNT);
        UdpSocket exit = exits[index];
        if (exit == null) {
            exit = make(packet.sourcePort, usual);
            exits[index] = exit;
        }
        return exit;
    }

    private UdpSocket make(int wanted, UdpSocket otherwise) {
        for (int i = 0; i < TRIES; i++) {
            int port = FIRST | wanted + i * 0x101 & 0x3fff;
            UdpSocket socket = null;
            try {
                socket = sockets.openExit(new InetSocketAddress(self.address.getAddress(), port));
                if (network != null) {
                    socket.setMulticastInterface(network);
                }
                return socket;
            } catch (IOException | RuntimeException e) {
                PortSockets.close(socket); // the port is taken, or the system lacks an option
            }
        }
        return otherwise;
    }

    /** Closes all sockets except the receiving one, which its owner closes. */
    void close() {
        for (int i = 0; i < COUNT; i++) {
            if (exits[i] != usual) {
                PortSockets.close(exits[i]);
            }
            exits[i] = null;
        }
        usual = null;
    }
}
