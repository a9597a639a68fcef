package org.kverbs.embedded.internal.udp;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.embedded.internal.wire.PacketCodec;

/**
 * Sends the packets of a device. A socket is full while the network is slower than the senders. Then one packet waits
 * for room, and senders that ask hold their next packets back, as the queues of a network card do. Called with the
 * engine's lock held.
 */
final class SocketSender {

    /** How long the sender leaves a full socket alone, in nanoseconds. */
    private static final long PAUSE = 100_000;

    private final Engine engine;
    private final Peer self;
    private final Icrc icrc;
    private final Counters counters;
    private final ByteBuffer buffer;
    private final long address;
    private final List<Task> waiting = new ArrayList<>();
    private final SourcePorts sockets;
    /** The destination and the socket of the packet that waits in the buffer, if one waits. */
    private @Nullable Peer held;
    private SourcePorts.@Nullable Exit heldBy;

    private final Event again = new Event() {
        @Override
        protected void happen() {
            sendHeld();
        }

        @Override
        protected void failed() {
            held = null; // this packet is lost; the packets behind it are not
            resumeAll();
        }
    };

    /** @param self the source address of the packets */
    SocketSender(Engine engine, Peer self, Counters counters) {
        this.engine = engine;
        this.counters = counters;
        this.self = self;
        this.sockets = new SourcePorts(self);
        MemorySegment memory = Arena.ofAuto().allocate(Icrc.HEADROOM + Packet.BUFFER_SIZE, 64);
        this.icrc = new Icrc(memory.asByteBuffer());
        this.buffer = memory.asSlice(Icrc.HEADROOM).asByteBuffer();
        this.address = memory.address() + Icrc.HEADROOM;
    }

    /** @param groups the network interface for multicast packets */
    void open(DatagramChannel opened, @Nullable NetworkInterface groups) {
        sockets.open(opened, groups);
    }

    void close() {
        sockets.close();
        held = null;
        engine.cancel(again);
        resumeAll();
    }

    /** Sends a packet. While the socket is full one packet waits; further packets are lost, as in a full switch. */
    void send(Packet packet, Peer to) {
        SourcePorts.Exit exit = held == null ? sockets.of(packet) : null;
        if (exit == null) {
            counters.count(Counter.PORT_XMIT_DISCARDS);
            return;
        }
        int length = PacketCodec.encode(packet, address);
        engine.touched();
        int sum = icrc(to, exit.port, length);
        Icrc.put(address + length, packet.summedTwice ? icrc.again(address, length) : sum);
        buffer.limit(length + Icrc.LENGTH).position(0);
        if (!leaves(to, exit)) {
            held = to;
            heldBy = exit;
            engine.schedule(again, PAUSE);
        }
    }

    /** Tells whether packets that can wait must wait. If so, the task becomes ready when the socket has room again. */
    boolean mustWait(Task task) {
        if (held == null) {
            return false;
        }
        if (!waiting.contains(task)) {
            waiting.add(task);
        }
        return true;
    }

    private void sendHeld() {
        if (held != null && heldBy != null && !leaves(held, heldBy)) {
            engine.schedule(again, PAUSE);
            return;
        }
        held = null;
        resumeAll();
    }

    private void resumeAll() {
        waiting.forEach(engine::ready);
        waiting.clear();
    }

    /** Sends the packet in the buffer; returns false if the socket is full. */
    private boolean leaves(Peer to, SourcePorts.Exit by) {
        try {
            return by.channel.send(buffer, to.address) > 0;
        } catch (IOException e) {
            counters.count(Counter.PORT_XMIT_DISCARDS);
            // no route, or no such host: the packet is lost, and a sender that waits for an answer will notice
            return true;
        }
    }

    private int icrc(Peer to, int from, int length) {
        int port = Icrc.UDP_PORT;
        return self.isV4()
                ? icrc.ofV4((int) self.gidLow, (int) to.gidLow, Icrc.DONT_FRAGMENT, from, port, address, length)
                : icrc.ofV6(self.gidHigh, self.gidLow, to.gidHigh, to.gidLow, from, port, address, length);
    }
}
