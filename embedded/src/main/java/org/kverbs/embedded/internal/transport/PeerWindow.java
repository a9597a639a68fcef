package org.kverbs.embedded.internal.transport;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.engine.Task;

/**
 * Limits the packets in flight between a device and one peer. All connected queue pairs that lead to the peer share the
 * window, because their packets share a buffer: that of the peer's socket, or for the data of reads that of this side.
 *
 * <p>A reliable queue pair gets at most three quarters of what the others leave ({@link #share}). What the others leave
 * is the window without their packets, and without one reserved place for each of them, as long as the reserved places
 * take no more than half of the window. So a queue pair whose peer died in silence leaves room to the others. One
 * packet is always permitted: a queue pair that must wait therefore has a packet in flight, and goes on at the answer
 * to it, so that no list of waiting queue pairs is needed.
 *
 * <p>The window begins with the link's maximum. Each sign of a loss (a sequence NAK, a gap in the data of a read, a
 * timeout) halves it, once for each window of packets that arrived, down to {@value #LEAST}. Each {@value #STEADY}
 * windows of packets that arrived add one packet, up to the link's maximum.
 *
 * <p>Packets of unreliable queue pairs are not acknowledged. They get a third of the link's maximum, and at least one
 * packet, in each {@value #PAUSE} nanoseconds.
 */
final class PeerWindow {

    /** The smallest window after losses. */
    private static final int LEAST = 16;
    /** How many windows of packets must arrive before the window grows by one. */
    private static final int STEADY = 8;
    /** The pause between two bursts in nanoseconds; a receiver that sleeps between its polls wakes within that time. */
    private static final int PAUSE = 1_000_000;

    /** A peer's address. */
    private record Gid(long high, long low) {}

    /** The windows of a device that have users. */
    static final class All {
        private final Hca hca;
        private final Map<Gid, PeerWindow> byPeer = new HashMap<>();

        All(Hca hca) {
            this.hca = hca;
        }

        /** Returns the window of a peer for one more queue pair. */
        PeerWindow join(long gidHigh, long gidLow) {
            PeerWindow window = byPeer.computeIfAbsent(new Gid(gidHigh, gidLow), peer -> new PeerWindow(hca, peer));
            window.users++;
            return window;
        }
    }

    private final Hca hca;
    private final Gid peer;
    private int users;
    private int most = Integer.MAX_VALUE;
    private int onTheWay;
    /** Packets that arrived since the last reduction. */
    private int sinceLoss = Integer.MAX_VALUE;
    /** Packets that arrived since the last growth. */
    private int sinceGrowth;
    /** Unreliable packets since the last pause. */
    private int burst;
    private final List<Task> paused = new ArrayList<>();

    private final Event pause = new Event() {
        @Override
        protected void happen() {
            burst = 0;
            paused.forEach(hca.engine::ready);
            paused.clear();
        }
    };

    private PeerWindow(Hca hca, Gid peer) {
        this.hca = hca;
        this.peer = peer;
    }

    boolean isTo(long gidHigh, long gidLow) {
        return peer.low == gidLow && peer.high == gidHigh;
    }

    /** Notes that a queue pair no longer uses the window. */
    void leave(Task user) {
        paused.remove(user);
        if (--users == 0) {
            hca.engine.cancel(pause);
            hca.windows.byPeer.remove(peer);
        }
    }

    private int size() {
        return Math.min(most, hca.link.window());
    }

    /** Returns how many packets a queue pair can have in flight, of which it has {@code own} now. */
    int share(int own) {
        if (hca.link.carriesWholeMessages()) {
            return hca.link.window(); // a packet has arrived when it was sent
        }
        int size = size();
        int left = size - (onTheWay - own) - Math.min(users - 1, size / 2);
        return Math.max(1, left * 3 / 4);
    }

    /** Counts sent packets. */
    void add(int packets) {
        onTheWay += packets;
    }

    /** Uncounts packets that arrived or are to be sent again. */
    void remove(int packets) {
        onTheWay -= packets;
    }

    /** Notes that the peer has answered packets. */
    void arrived(int packets) {
        sinceLoss = (int) Math.min((long) sinceLoss + packets, Integer.MAX_VALUE);
        sinceGrowth += packets;
        if (sinceGrowth >= STEADY * Math.min(size(), 1 << 20)) {
            sinceGrowth = 0;
            most = Math.min(size() + 1, hca.link.window());
        }
    }

    /** Notes a loss. */
    void reduce() {
        if (sinceLoss >= size()) {
            sinceLoss = 0;
            sinceGrowth = 0;
            most = Math.max(LEAST, size() / 2);
        }
    }

    /** Tells whether an unreliable packet must wait for the next burst, which makes its queue pair ready. */
    boolean mustPause(Task sender) {
        if (hca.link.carriesWholeMessages() || burst++ < Math.max(1, hca.link.window() / 3)) {
            return false;
        }
        if (!paused.contains(sender)) {
            paused.add(sender);
        }
        if (!pause.isScheduled()) {
            hca.engine.schedule(pause, PAUSE);
        }
        return true;
    }
}
