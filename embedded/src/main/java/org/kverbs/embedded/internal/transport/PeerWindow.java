package org.kverbs.embedded.internal.transport;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.engine.Task;

/**
 * How many packets can be on their way between a device and one peer. All connected queue pairs that lead to the peer
 * share the window, because their packets share a buffer: the one of the peer's socket, or for the data of reads the
 * one of this side.
 *
 * <p>A reliable queue pair gets at most three quarters of what the others leave ({@link #share}). What the others leave
 * is the window without their packets, and without a place for one packet of each of them, as far as these places take
 * no more than half of the window. A queue pair whose peer died in silence so leaves room to the others. One packet is
 * always allowed: a queue pair that must wait therefore has a packet on its way, and goes on by the answer to it, so
 * that no list of waiting queue pairs is needed.
 *
 * <p>The window begins with what the link says is its most. Each sign of a loss (a sequence NAK, a gap in the data of a
 * read, a timeout) halves it, once for each window of packets that arrived, down to {@value #LEAST}. Each {@value
 * #STEADY} windows of packets that arrived add one packet, up to the link's most.
 *
 * <p>Nobody acknowledges packets of unreliable queue pairs. They get a third of the link's most, and at least one, in
 * each {@value #PAUSE} nanoseconds.
 */
final class PeerWindow {

    /** The fewest packets a loss leaves. */
    private static final int LEAST = 16;
    /** Windows of packets that must arrive until one more is tried. */
    private static final int STEADY = 8;
    /** The pause between two bursts, in nanoseconds: a receiver that sleeps between its looks wakes within that. */
    private static final int PAUSE = 1_000_000;

    /** A peer's address. */
    private record Gid(long high, long low) {}

    /** The windows of a device, as long as they have users. */
    static final class All {
        private final Hca hca;
        private final Map<Gid, PeerWindow> byPeer = new HashMap<>();

        All(Hca hca) {
            this.hca = hca;
        }

        /** The window of a peer for one more queue pair. */
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
    /** Packets that arrived since the window was reduced last. */
    private int sinceLoss = Integer.MAX_VALUE;
    /** Packets that arrived since the window grew last. */
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

    /** A queue pair uses it no more. */
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

    /** Packets that a queue pair can have on its way, of which it has {@code own} now. */
    int share(int own) {
        if (hca.link.carriesWholeMessages()) {
            return hca.link.window(); // what is sent has arrived
        }
        int size = size();
        int left = size - (onTheWay - own) - Math.min(users - 1, size / 2);
        return Math.max(1, left * 3 / 4);
    }

    /** Packets were sent. */
    void add(int packets) {
        onTheWay += packets;
    }

    /** Packets are on their way no more, or are to be sent again. */
    void remove(int packets) {
        onTheWay -= packets;
    }

    /** The peer has answered packets. */
    void arrived(int packets) {
        sinceLoss = (int) Math.min((long) sinceLoss + packets, Integer.MAX_VALUE);
        sinceGrowth += packets;
        if (sinceGrowth >= STEADY * Math.min(size(), 1 << 20)) {
            sinceGrowth = 0;
            most = Math.min(size() + 1, hca.link.window());
        }
    }

    /** Something was lost. */
    void reduce() {
        if (sinceLoss >= size()) {
            sinceLoss = 0;
            sinceGrowth = 0;
            most = Math.max(LEAST, size() / 2);
        }
    }

    /** Whether an unreliable packet must wait for the next burst, by which its queue pair then goes on. */
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
