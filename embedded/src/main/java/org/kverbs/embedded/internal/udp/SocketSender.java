package org.kverbs.embedded.internal.udp;

import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.wire.Packet;

/**
 * Sends the packets of a device. Packets that follow each other to one host leave together, at the latest when the
 * current call of the engine has done all its work. A socket is full while the network is slower than the senders. Then
 * the packets that did not leave wait for room, and senders that ask hold their next packets back, as the queues of a
 * network card do. Called with the engine's lock held.
 */
final class SocketSender {

    /** How long the sender leaves a full socket alone, in nanoseconds. */
    private static final long PAUSE = 100_000;

    private final Engine engine;
    private final Counters counters;
    private final List<Task> waiting = new ArrayList<>();
    private final SourcePorts sockets;
    /** Takes the next packets. */
    private Batch next;
    /** Has the packets of a full socket if {@link #isHeld}; otherwise it is empty. */
    private Batch other;

    private boolean isHeld;
    private final Runnable touched;

    private final Event again = new Event() {
        @Override
        protected void happen() {
            sendHeld();
        }

        @Override
        protected void failed() {
            lose(other); // the packets behind them are not lost
            dropHeld();
        }
    };

    private final Task flush = new Task() {
        @Override
        protected void run() {
            flush();
        }

        @Override
        protected void failed() {
            lose(next);
        }
    };

    /** @param self the source address of the packets */
    SocketSender(Engine engine, PortSockets sockets, Peer self, Counters counters) {
        this.engine = engine;
        this.counters = counters;
        this.sockets = new SourcePorts(sockets, self);
        this.next = new Batch(self);
        this.other = new Batch(self);
        this.touched = engine::touched;
    }

    /** @param groups the network interface for multicast packets */
    void open(UdpSocket opened, @Nullable NetworkInterface groups) {
        sockets.open(opened, groups);
    }

    void close() {
        flush();
        lose(next);
        sockets.close();
        engine.cancel(again);
        lose(other);
        dropHeld();
    }

    /**
     * Sends a packet, at the latest at the end of the engine's call. While the socket is full, further packets are
     * lost, as in a full switch.
     */
    void send(Packet packet, Peer to) {
        UdpSocket exit = isHeld ? null : sockets.of(packet);
        if (exit == null) {
            counters.count(Counter.PORT_XMIT_DISCARDS);
            return;
        }
        boolean isMulticast = Gids.isMulticast(packet.destinationGidHigh, packet.destinationGidLow);
        int hops = isMulticast ? packet.hopLimit : 0;
        if (!next.takes(packet, to, exit, hops)) {
            flush();
        }
        next.add(packet, to, exit, hops, touched);
        if (next.isFull()) {
            flush();
        } else {
            engine.readyLast(flush);
        }
    }

    /** Tells whether packets that can wait must wait. If so, the task becomes ready when the socket has room again. */
    boolean mustWait(Task task) {
        if (!isHeld) {
            return false;
        }
        if (!waiting.contains(task)) {
            waiting.add(task);
        }
        return true;
    }

    private void flush() {
        if (isHeld || next.isEmpty()) {
            return; // what stands behind the packets that wait leaves after them
        }
        if (leaves(next)) {
            return;
        }
        Batch full = next;
        next = other;
        other = full;
        isHeld = true;
        engine.schedule(again, PAUSE);
    }

    private void sendHeld() {
        if (isHeld && !leaves(other)) {
            engine.schedule(again, PAUSE);
            return;
        }
        dropHeld();
    }

    /** Forgets packets that do not leave any more, and counts them. */
    private void lose(Batch batch) {
        count(batch.lose());
    }

    /** Goes on after the packets that waited, which have left or are lost. */
    private void dropHeld() {
        isHeld = false;
        if (!next.isEmpty()) {
            engine.readyLast(flush);
        }
        waiting.forEach(engine::ready);
        waiting.clear();
    }

    /**
     * Sends packets; returns false if the socket is full. A packet without a route, or to no such host, is lost, and a
     * sender that waits for an answer will notice.
     */
    private boolean leaves(Batch batch) {
        int lost = batch.leave();
        count(lost);
        return lost >= 0;
    }

    private void count(int lost) {
        if (lost > 0) {
            counters.count(Counter.PORT_XMIT_DISCARDS, lost);
        }
    }
}
