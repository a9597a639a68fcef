package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ProtocolFamily;
import java.net.SocketOption;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;

/**
 * Holds the sockets by which packets leave a device. Networks spread RoCEv2 traffic by the UDP source port, and a
 * socket has one port. So there are up to {@value #COUNT} sockets, each opened when it is first needed, and all packets
 * of a connection leave by the same socket. These sockets receive nothing. The traffic class is set as a socket option,
 * except its lowest bit, which Java does not pass on. Java can set the hop limit of multicast packets only; other
 * packets have the system's hop limit (net.ipv4.ip_default_ttl). Called with the engine's lock held.
 */
final class SourcePorts {

    private static final int COUNT = 16;
    /** The first of the 0x4000 source ports of RoCEv2 (IBA annex A17.4.8). */
    private static final int FIRST = 0xc000;
    /** How many ports are tried before packets leave from port {@value Icrc#UDP_PORT}. */
    private static final int TRIES = 16;
    private static final int SEND_BUFFER = 4 << 20;
    /** Linux raises this to its smallest buffer. */
    private static final int RECEIVE_BUFFER = 1;

    /** A socket with its current options. */
    static final class Exit {
        final DatagramChannel channel;
        final int port;
        private int trafficClass;
        private int multicastHops = 1;

        Exit(DatagramChannel channel, int port) {
            this.channel = channel;
            this.port = port;
        }

        private void prepare(Packet packet) {
            try {
                if (packet.trafficClass != trafficClass) {
                    trafficClass = packet.trafficClass;
                    channel.setOption(StandardSocketOptions.IP_TOS, trafficClass);
                }
                boolean multicast = Gids.isMulticast(packet.destinationGidHigh, packet.destinationGidLow);
                if (multicast && packet.hopLimit != multicastHops) {
                    multicastHops = packet.hopLimit;
                    channel.setOption(StandardSocketOptions.IP_MULTICAST_TTL, multicastHops);
                }
            } catch (IOException | UnsupportedOperationException e) {
                // The system does not allow the option: the packet leaves without it.
            }
        }
    }

    private final Peer self;
    private final @Nullable Exit[] exits = new Exit[COUNT];
    private @Nullable Exit usual;
    private @Nullable NetworkInterface network;

    SourcePorts(Peer self) {
        this.self = self;
    }

    /** @param channel the receiving socket; packets leave by it if no other socket can be opened */
    void open(DatagramChannel channel, @Nullable NetworkInterface groups) {
        usual = new Exit(channel, Icrc.UDP_PORT);
        network = groups;
    }

    /** Returns the socket for a packet, with the packet's options set; null if the device is closed. */
    @Nullable Exit of(Packet packet) {
        if (usual == null) {
            return null;
        }
        // Connections with different traffic classes get different sockets where possible, which saves system calls.
        int mixed = (packet.sourcePort ^ packet.trafficClass << 2) * 0x9E3779B9;
        int index = mixed >>> Integer.SIZE - Integer.numberOfTrailingZeros(COUNT);
        Exit exit = exits[index];
        if (exit == null) {
            exit = make(packet.sourcePort, usual);
            exits[index] = exit;
        }
        exit.prepare(packet);
        return exit;
    }

    private Exit make(int wanted, Exit otherwise) {
        for (int i = 0; i < TRIES; i++) {
            int port = FIRST | wanted + i * 0x101 & 0x3fff;
            DatagramChannel channel = null;
            try {
                ProtocolFamily family = self.isV4() ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6;
                channel = DatagramChannel.open(family);
                prepare(channel);
                channel.bind(new InetSocketAddress(self.address.getAddress(), port));
                return new Exit(channel, port);
            } catch (IOException | RuntimeException e) {
                close(channel); // the port is taken, or the system lacks an option
            }
        }
        return otherwise;
    }

    private void prepare(DatagramChannel channel) throws IOException {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.SO_SNDBUF, SEND_BUFFER);
        channel.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER);
        wholly(channel);
        if (network != null) {
            channel.setOption(StandardSocketOptions.IP_MULTICAST_IF, network);
        }
    }

    /** Makes Linux send IP identification 0, which the ICRC covers. */
    static void wholly(DatagramChannel channel) throws IOException {
        SocketOption<Boolean> whole = ExtendedSocketOptions.IP_DONTFRAGMENT;
        if (channel.supportedOptions().contains(whole)) {
            channel.setOption(whole, true);
        }
    }

    /** Closes all sockets except the receiving one, which its owner closes. */
    void close() {
        for (int i = 0; i < COUNT; i++) {
            Exit exit = exits[i];
            if (exit != null && exit != usual) {
                close(exit.channel);
            }
            exits[i] = null;
        }
        usual = null;
    }

    private static void close(@Nullable DatagramChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            // The channel is closed even if close() throws.
        }
    }
}
