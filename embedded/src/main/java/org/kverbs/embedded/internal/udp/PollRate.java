package org.kverbs.embedded.internal.udp;

/**
 * Whether the program polls so often that its polls find packets sooner than a thread that has to be woken. A program
 * that polls now and then does not: a peer's reads and writes must not wait for it. What counts is how long the thread
 * that polled last does nothing in any UDP device: one that serves several queues comes back late and never rests. If
 * it does not come back within a millisecond, it has gone all the same. Any thread may poll; the figures need not be
 * exact.
 */
final class PollRate {

    /** The longest time that a thread that polls all the time does something else, in nanoseconds. */
    private static final long REST = 50_000;
    /** The longest time between two of its polls of this device, in nanoseconds. */
    private static final long ROUND = 1_000_000;
    /** So many polls in a row are no accident. */
    private static final int ENOUGH = 4;
    private static final int MOST = 16;

    /** When a thread was last seen in a device. */
    private static final class Seen {
        private volatile long last = System.nanoTime() - REST;
    }

    private static final ThreadLocal<Seen> THREADS = ThreadLocal.withInitial(Seen::new);

    private int row;
    private volatile long last = System.nanoTime() - ROUND;
    private volatile Seen poller = new Seen();

    /** The current thread sends or takes a packet of any device. */
    static void seen() {
        THREADS.get().last = System.nanoTime();
    }

    /** A poll begins. A gap now and then, in which the system runs something else, does not end a long row. */
    void begin() {
        Seen before = poller;
        row = isRecent(before) ? Math.min(row + 1, MOST) : row / 2;
        Seen now = THREADS.get();
        if (now != before) {
            poller = now;
        }
    }

    /** A poll ends. */
    void end() {
        last = System.nanoTime();
        seen();
    }

    private boolean isRecent(Seen by) {
        long now = System.nanoTime();
        return now - by.last < REST && now - last < ROUND;
    }

    /** The program waits for events from now on. Returns whether it polled often until now. */
    boolean stop() {
        boolean was = isDense();
        row = 0;
        return was;
    }

    boolean isDense() {
        return isRecent(poller) && row >= ENOUGH;
    }
}
