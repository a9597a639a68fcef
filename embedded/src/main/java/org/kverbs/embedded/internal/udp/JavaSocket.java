package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ProtocolFamily;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;

/**
 * A socket of Java, for systems other than Linux and for JVMs that permit no native calls. It sends and receives one
 * packet in a call. Of a received packet it shows no traffic class. It sets the traffic class of sent packets except
 * its lowest bit, which Java does not pass on.
 */
final class JavaSocket implements UdpSocket {

    private final DatagramChannel channel;
    private final int port;
    private final Peers peers;
    private int trafficClass;
    private int multicastHops = 1;

    /**
     * Opens a socket and binds it.
     *
     * @param peers know the hosts that send
     */
    JavaSocket(ProtocolFamily family, InetSocketAddress at, int receiveBuffer, int sendBuffer, Peers peers)
            throws IOException {
        this.peers = peers;
        this.port = at.getPort();
        channel = DatagramChannel.open(family);
        try {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.SO_RCVBUF, receiveBuffer);
            channel.setOption(StandardSocketOptions.SO_SNDBUF, sendBuffer);
            SocketOption<Boolean> whole = ExtendedSocketOptions.IP_DONTFRAGMENT;
            if (channel.supportedOptions().contains(whole)) {
                channel.setOption(whole, true);
            }
            if (at.getAddress().isMulticastAddress()) {
                channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            }
            channel.bind(at);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    DatagramChannel channel() {
        return channel;
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public int receiveBuffer() throws IOException {
        return channel.getOption(StandardSocketOptions.SO_RCVBUF);
    }

    @Override
    public int mostPackets() {
        return 1;
    }

    @Override
    public int send(Peer to, int trafficClass, int multicastHops, Room from, int offset, int length, int packet) {
        prepare(trafficClass, multicastHops);
        ByteBuffer bytes = from.bytes.limit(offset + length).position(offset);
        try {
            return channel.send(bytes, to.address) > 0 ? 0 : -Errno.EAGAIN;
        } catch (IOException e) {
            return -Errno.EHOSTUNREACH; // Java does not tell the reason
        }
    }

    private void prepare(int traffic, int hops) {
        try {
            if (traffic != trafficClass) {
                trafficClass = traffic;
                channel.setOption(StandardSocketOptions.IP_TOS, traffic);
            }
            if (hops != 0 && hops != multicastHops) {
                multicastHops = hops;
                channel.setOption(StandardSocketOptions.IP_MULTICAST_TTL, hops);
            }
        } catch (IOException | UnsupportedOperationException e) {
            // The system does not allow the option: the packet leaves without it.
        }
    }

    @Override
    public boolean receive(Datagram into) {
        ByteBuffer bytes = into.room.bytes.limit(into.offset + Datagram.MOST).position(into.offset);
        InetSocketAddress source = receive(bytes);
        if (source == null) {
            return false;
        }
        Peer known = peers.known(source.getAddress());
        Peer peer = known == null ? new Peer(source.getAddress()) : known;
        into.stranger = known == null ? peer : null;
        into.length = bytes.position() - into.offset;
        into.packet = into.length;
        into.sourceHigh = peer.gidHigh;
        into.sourceLow = peer.gidLow;
        into.sourcePort = source.getPort();
        into.trafficClass = 0;
        return true;
    }

    private @Nullable InetSocketAddress receive(ByteBuffer bytes) {
        try {
            return (InetSocketAddress) channel.receive(bytes);
        } catch (IOException e) {
            // The socket was closed in the meantime, or a router rejected a packet of ours, which a retry timer
            // handles.
            return null;
        }
    }

    @Override
    public void setMulticastInterface(NetworkInterface network) throws IOException {
        channel.setOption(StandardSocketOptions.IP_MULTICAST_IF, network);
    }

    @Override
    public void join(InetAddress group, NetworkInterface network) throws IOException {
        channel.join(group, network);
    }

    @Override
    public void close() {
        PortSockets.close(channel);
    }
}
