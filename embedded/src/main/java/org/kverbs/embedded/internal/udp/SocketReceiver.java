package org.kverbs.embedded.internal.udp;

import java.util.BitSet;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.embedded.internal.wire.PacketCodec;

/**
 * Receives the packets of a device: takes the datagrams of a socket, checks the ICRC of each packet, and hands the
 * packets to the device. Called by one thread at a time. It takes the engine's lock by itself, and only for the last
 * step.
 */
final class SocketReceiver {

    /** The most datagrams that are taken in one go. */
    private static final int BATCH = 64;

    private final Hca device;
    private final PortSockets sockets;
    private final Room room = new Room(2 * Datagram.MOST);
    private final Datagram[] datagrams = new Datagram[BATCH];
    /** By the number of a packet in this go. */
    private final BitSet intact = new BitSet();

    private final Packet received = new Packet(0);
    /**
     * How many datagrams the next go takes: as many as came at once before. So a datagram that comes alone is delivered
     * without a system call that looks for another.
     */
    private int most = 1;
    /** True if the go before found as many as it could take. */
    private boolean grew;

    SocketReceiver(Hca device, PortSockets sockets) {
        this.device = device;
        this.sockets = sockets;
        for (int i = 0; i < BATCH; i++) {
            datagrams[i] = new Datagram(room);
        }
    }

    /**
     * Takes packets that have arrived at a socket. There may be more: the caller looks again.
     *
     * @param to the address that the socket is bound to
     * @return the number of datagrams, each of which can have several packets
     */
    int take(@Nullable UdpSocket from, Peer to) {
        int count = from == null ? 0 : receive(from);
        if (count == 0) {
            return 0;
        }
        intact.clear();
        int packets = 0;
        for (int i = 0; i < count; i++) {
            packets = check(datagrams[i], to, packets);
        }
        device.engine().enter();
        try {
            deliver(count, to);
        } finally {
            device.engine().leave();
        }
        return count;
    }

    /** Takes datagrams while there is room for the longest. */
    private int receive(UdpSocket from) {
        int count = 0;
        int offset = 0;
        for (; count < most && offset <= Datagram.MOST; count++) {
            Datagram datagram = datagrams[count];
            datagram.offset = offset;
            if (!from.receive(datagram)) {
                break;
            }
            offset += datagram.length;
        }
        adapt(count, offset > Datagram.MOST);
        return count;
    }

    private void adapt(int count, boolean isRoomFull) {
        if (count == 0) {
            most = grew ? Math.max(1, most / 2) : most; // the go before had found all
            grew = false;
        } else if (count == most) {
            most = Math.min(2 * most, BATCH);
            grew = true;
        } else if (!isRoomFull) {
            most = count;
            grew = false;
        }
    }

    /** Notes which packets of a datagram are intact. Returns the number of packets so far. */
    private int check(Datagram datagram, Peer to, int before) {
        int packets = before;
        int offset = 0;
        do {
            int length = Math.min(datagram.packet, datagram.length - offset) - Icrc.LENGTH;
            long at = room.address + datagram.offset + offset;
            room.save(at);
            if (length > 0 && isIntact(datagram, to, at, length, packets - before)) {
                intact.set(packets);
            }
            room.restore(at);
            packets++;
            offset += datagram.packet;
        } while (offset < datagram.length);
        if (datagram.stranger != null && intact.get(before)) {
            sockets.keep(datagram.stranger);
        }
        datagram.stranger = null;
        return packets;
    }

    /** @param index the packet's number in the datagram, which its sender gave it as IPv4's identification, too */
    private boolean isIntact(Datagram from, Peer to, long at, int length, int index) {
        int port = Icrc.UDP_PORT;
        return to.isV4()
                ? room.icrc.v4Fits((int) from.sourceLow, (int) to.gidLow, from.sourcePort, port, at, length, index)
                : room.icrc.v6Fits(from.sourceHigh, from.sourceLow, to.gidHigh, to.gidLow, from.sourcePort, port, at,
                        length);
    }

    private void deliver(int count, Peer to) {
        int packets = 0;
        for (int i = 0; i < count; i++) {
            Datagram datagram = datagrams[i];
            int offset = 0;
            do {
                deliverGuarded(datagram, to, offset, intact.get(packets++));
                offset += datagram.packet;
            } while (offset < datagram.length);
            PollRate.seen();
        }
    }

    /** Delivers one packet. If that fails, the next packets are still taken. */
    private void deliverGuarded(Datagram datagram, Peer to, int offset, boolean isIntact) {
        try {
            deliver(datagram, to, offset, isIntact);
        } catch (Throwable e) {
            device.engine().report(e);
        }
    }

    private void deliver(Datagram datagram, Peer to, int offset, boolean isIntact) {
        int length = Math.min(datagram.packet, datagram.length - offset) - Icrc.LENGTH;
        if (!device.isUp()) {
            return;
        }
        if (length <= 0 || !PacketCodec.decode(received, room.address + datagram.offset + offset, length)) {
            device.counters.count(Counter.PORT_RCV_ERRORS);
            return;
        }
        if (!isIntact) {
            device.counters.count(Counter.RX_ICRC_ENCAPSULATED);
            return;
        }
        received.sourceGidHigh = datagram.sourceHigh;
        received.sourceGidLow = datagram.sourceLow;
        received.destinationGidHigh = to.gidHigh;
        received.destinationGidLow = to.gidLow;
        received.trafficClass = datagram.trafficClass;
        received.hopLimit = 64; // no socket is asked for it
        received.flowLabel = 0;
        received.sourcePort = datagram.sourcePort;
        received.psnCount = 1;
        device.take(received);
    }
}
