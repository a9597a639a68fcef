package org.kverbs.embedded.internal.udp;

/**
 * Decides whether the program polls so often that its polls find packets sooner than a thread that must be woken. For a
 * program that polls now and then the answer is no, since a peer's reads and writes must not wait for such polls. The
 * measure is how long the thread that polled last does nothing in any UDP device: a thread that serves several queues
 * comes back late but never rests. If it does not poll this device within a millisecond, the answer is no as well. Any
 * thread may poll; the figures need not be exact.
 */
final class PollRate {

    /** The longest time that a thread that polls continuously spends outside all UDP devices, in nanoseconds. */
    private static final long REST = 50_000;
    /** The longest time between two of its polls of this device, in nanoseconds. */
    private static final long ROUND = 1_000_000;
    /** This number of polls in a row counts as continuous polling. */
    private static final int ENOUGH = 4;
    private static final int MOST = 16;

    /** Records when a thread was last seen in a device. */
    private static final class Seen {
        private volatile long last = System.nanoTime() - REST;
    }

    private static final ThreadLocal<Seen> THREADS = ThreadLocal.withInitial(Seen::new);

    private int row;
    private volatile long last = System.nanoTime() - ROUND;
    private volatile Seen poller = new Seen();

    /** Notes that the current thread sends or takes a packet of any device. */
    static void seen() {
        THREADS.get().last = System.nanoTime();
    }

    /** Begins a poll. An occasional gap, in which the system runs another thread, does not end a long row. */
    void begin() {
        Seen before = poller;
        row = isRecent(before) ? Math.min(row + 1, MOST) : row / 2;
        Seen now = THREADS.get();
        if (now != before) {
            poller = now;
        }
    }

    /** Ends a poll. */
    void end() {
        last = System.nanoTime();
        seen();
    }

    private boolean isRecent(Seen by) {
        long now = System.nanoTime();
        return now - by.last < REST && now - last < ROUND;
    }

    /** Notes that the program waits for events from now on. Returns whether it polled continuously until now. */
    boolean stop() {
        boolean was = isDense();
        row = 0;
        return was;
    }

    boolean isDense() {
        return isRecent(poller) && row >= ENOUGH;
    }
}
