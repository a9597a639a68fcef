package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.embedded.internal.wire.PacketCodec;

/**
 * Receives the packets of a device: checks each datagram of a socket and hands its packet to the device. Called by one
 * thread at a time; it takes the engine's lock by itself.
 */
final class SocketReceiver {

    /** How many packets are taken in one go before other threads get the engine's lock. */
    private static final int BATCH = 64;

    private final Hca device;
    /** Guarded by the engine's lock. */
    private final Peers peers;

    private final Icrc icrc;
    private final ByteBuffer buffer;
    private final long address;
    private final Packet received = new Packet(0);

    /** @param peers the hosts that the sender knows, too */
    SocketReceiver(Hca device, Peers peers) {
        this.device = device;
        this.peers = peers;
        MemorySegment memory = Arena.ofAuto().allocate(Icrc.HEADROOM + Packet.BUFFER_SIZE, 64);
        this.icrc = new Icrc(memory.asByteBuffer());
        this.buffer = memory.asSlice(Icrc.HEADROOM).asByteBuffer();
        this.address = memory.address() + Icrc.HEADROOM;
    }

    /**
     * Takes the packets that have arrived at a socket.
     *
     * @param to the address that the socket is bound to
     */
    void take(@Nullable DatagramChannel from, Peer to) {
        if (from == null) {
            return;
        }
        try {
            InetSocketAddress source = receiveOne(from);
            if (source == null) {
                return;
            }
            device.engine().enter();
            try {
                for (int i = 0; source != null; source = ++i < BATCH ? receiveOne(from) : null) {
                    deliverGuarded(source, to);
                }
            } finally {
                device.engine().leave();
            }
        } catch (IOException e) {
            // The socket was closed in the meantime, or a router rejected a packet of ours, which a retry timer
            // handles.
        }
    }

    private @Nullable InetSocketAddress receiveOne(DatagramChannel from) throws IOException {
        buffer.clear();
        return (InetSocketAddress) from.receive(buffer);
    }

    /** Delivers one packet. If that fails, the next packets are still taken. */
    private void deliverGuarded(InetSocketAddress source, Peer to) {
        try {
            deliver(source, to);
            PollRate.seen();
        } catch (Throwable e) {
            device.engine().report(e);
        }
    }

    private void deliver(InetSocketAddress source, Peer to) {
        int length = buffer.position() - Icrc.LENGTH;
        if (!device.isUp()) {
            return;
        }
        if (length <= 0 || !PacketCodec.decode(received, address, length)) {
            device.counters.count(Counter.PORT_RCV_ERRORS);
            return;
        }
        Peer known = peers.known(source.getAddress());
        Peer peer = known == null ? new Peer(source.getAddress()) : known;
        if (!isIntact(peer, to, source.getPort(), length)) {
            device.counters.count(Counter.RX_ICRC_ENCAPSULATED);
            return;
        }
        if (known == null) {
            peers.keep(peer);
        }
        received.sourceGidHigh = peer.gidHigh;
        received.sourceGidLow = peer.gidLow;
        received.destinationGidHigh = to.gidHigh;
        received.destinationGidLow = to.gidLow;
        received.trafficClass = 0; // a UDP socket shows neither the traffic class nor the hop limit
        received.hopLimit = 64;
        received.flowLabel = 0;
        received.sourcePort = source.getPort();
        received.psnCount = 1;
        device.take(received);
    }

    private boolean isIntact(Peer from, Peer to, int sourcePort, int length) {
        int port = Icrc.UDP_PORT;
        return from.isV4()
                ? icrc.v4Fits((int) from.gidLow, (int) to.gidLow, sourcePort, port, address, length)
                : icrc.v6Fits(from.gidHigh, from.gidLow, to.gidHigh, to.gidLow, sourcePort, port, address, length);
    }
}
