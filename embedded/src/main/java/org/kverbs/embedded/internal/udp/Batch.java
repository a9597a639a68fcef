package org.kverbs.embedded.internal.udp;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.embedded.internal.wire.PacketCodec;
import org.kverbs.internal.abi.Errno;

/**
 * Collects packets that leave in one call: one behind the other, to one host, by one socket, with one traffic class,
 * all of one size, except that the last may be shorter. The kernel or the network card cuts them apart and counts
 * IPv4's identification up from 0, which the ICRC covers. Called with the engine's lock held.
 *
 * <p>Where the kernel does not take packets together, they leave one by one with the identification 0. That is so if
 * the way leads through a network card that computes no checksums or through IPsec (EIO, EOPNOTSUPP; the host then gets
 * single packets from now on), or if a packet is longer than the MTU of the way (EINVAL, EMSGSIZE).
 */
final class Batch {

    /** The bytes of the longest UDP datagram over IPv4. */
    private static final int MOST_BYTES = 65_507;

    private final Peer self;
    private final Room room = new Room(MOST_BYTES + Packet.BUFFER_SIZE);
    private @Nullable Peer to;
    private @Nullable UdpSocket by;
    private int trafficClass;
    private int multicastHops;
    /** The bytes of each packet but the last. */
    private int size;
    /** The bytes of all packets. */
    private int length;
    /** Where the packets begin that have not left. */
    private int begin;
    private int packets;
    /** The lost packets of those that leave one by one, also before the socket was full. */
    private int lost;
    /** True after a packet that is shorter. */
    private boolean isComplete;
    /** True if the packets have ICRCs of single packets. */
    private boolean isApart;

    Batch(Peer self) {
        this.self = self;
    }

    boolean isEmpty() {
        return packets == 0;
    }

    /** Returns the number of packets that have not left. */
    int packets() {
        return packets;
    }

    /** Tells whether no packet of the present size fits behind the others. */
    boolean isFull() {
        return isComplete || by != null && packets >= by.mostPackets() || length + size > MOST_BYTES
                || to != null && !to.takesBatches && packets > 0;
    }

    /** Tells whether a packet can be the next one. */
    boolean takes(Packet packet, Peer host, UdpSocket socket, int hops) {
        return packets == 0
                || !packet.summedTwice // takeApart computes ordinary ICRCs for all packets but the first
                && host == to
                && socket == by
                && packet.trafficClass == trafficClass
                && hops == multicastHops
                && !isFull()
                && PacketCodec.length(packet) + Icrc.LENGTH <= size;
    }

    /**
     * Adds a packet that it {@link #takes}.
     *
     * @param touched runs when the payload has been read
     */
    void add(Packet packet, Peer host, UdpSocket socket, int hops, Runnable touched) {
        long at = room.address + length;
        int bytes = PacketCodec.encode(packet, at);
        touched.run();
        if (packets == 0) {
            to = host;
            by = socket;
            trafficClass = packet.trafficClass;
            multicastHops = hops;
            size = bytes + Icrc.LENGTH;
            isApart = false;
        }
        room.save(at);
        int sum = icrc(at, bytes, host, socket.port(), packets);
        Icrc.put(at + bytes, packet.summedTwice ? room.icrc.again(at, bytes) : sum);
        room.restore(at);
        isComplete = bytes + Icrc.LENGTH < size;
        length += bytes + Icrc.LENGTH;
        packets++;
    }

    private int icrc(long at, int bytes, Peer host, int from, int identification) {
        int port = Icrc.UDP_PORT;
        return self.isV4()
                ? room.icrc.ofV4((int) self.gidLow, (int) host.gidLow, identification << 16 | Icrc.DONT_FRAGMENT, from,
                        port, at, bytes)
                : room.icrc.ofV6(self.gidHigh, self.gidLow, host.gidHigh, host.gidLow, from, port, at, bytes);
    }

    /**
     * Sends the packets.
     *
     * @return how many packets of the batch are lost; -1 if the socket is full, so that the rest waits for the next
     *     call, which also counts the packets lost so far
     */
    int leave() {
        Peer host = to;
        UdpSocket socket = by;
        if (packets == 0 || host == null || socket == null) {
            return 0;
        }
        if (!isApart) {
            int result = socket.send(host, trafficClass, multicastHops, room, 0, length, size);
            if (result == -Errno.EAGAIN) {
                return -1;
            }
            if (packets == 1 || !isRefused(result)) {
                lost = result < 0 ? packets : 0;
                return end();
            }
            host.takesBatches = result == -Errno.EINVAL || result == -Errno.EMSGSIZE;
            takeApart(host, socket);
        }
        return leaveApart(host, socket);
    }

    private static boolean isRefused(int result) {
        return result == -Errno.EIO
                || result == -Errno.EOPNOTSUPP
                || result == -Errno.EINVAL
                || result == -Errno.EMSGSIZE;
    }

    /** Gives all packets the ICRC of the identification 0; the first has it. */
    private void takeApart(Peer host, UdpSocket socket) {
        isApart = true;
        for (int offset = size; offset < length && self.isV4(); offset += size) {
            long at = room.address + offset;
            int bytes = Math.min(size, length - offset) - Icrc.LENGTH;
            room.save(at);
            Icrc.put(at + bytes, icrc(at, bytes, host, socket.port(), 0));
            room.restore(at);
        }
    }

    private int leaveApart(Peer host, UdpSocket socket) {
        while (packets > 0) {
            int bytes = Math.min(size, length - begin);
            int result = socket.send(host, trafficClass, multicastHops, room, begin, bytes, bytes);
            if (result == -Errno.EAGAIN) {
                return -1;
            }
            lost += result < 0 ? 1 : 0;
            begin += bytes;
            packets--;
        }
        return end();
    }

    private int end() {
        int all = lost;
        clear();
        return all;
    }

    /** Forgets the packets. Returns how many are lost that were not counted before. */
    int lose() {
        lost += packets;
        return end();
    }

    private void clear() {
        to = null;
        by = null;
        length = 0;
        begin = 0;
        packets = 0;
        lost = 0;
        isComplete = false;
    }
}
