package org.kverbs.embedded.internal.udp;

/**
 * Whether the program polls so often that its polls find packets sooner than a thread that has to be woken. A program
 * that polls now and then does not: a peer's reads and writes must not wait for it. Any thread may poll; the figures
 * need not be exact.
 */
final class PollRate {

    /**
     * The longest time between two polls of a program that does little else, in nanoseconds: a thread that serves several
     * queues needs as much for a batch of packets of each.
     */
    private static final long DENSE = 400_000;
    /** So many of them in a row are no accident. */
    private static final int ENOUGH = 4;
    private static final int MOST = 16;

    private int row;
    private volatile long last = System.nanoTime() - DENSE;

    /** A poll begins. A gap now and then, in which the system runs something else, does not end a long row. */
    void begin() {
        row = System.nanoTime() - last < DENSE ? Math.min(row + 1, MOST) : row / 2;
    }

    /** A poll ends: the time that it took for the packets it found does not count. */
    void end() {
        last = System.nanoTime();
    }

    /** A packet is sent: a program that posts between its polls has not gone. */
    void sent() {
        if (isDense()) {
            end();
        }
    }

    /** The program waits for events from now on. Returns whether it polled often until now. */
    boolean stop() {
        boolean was = isDense();
        row = 0;
        last = System.nanoTime() - DENSE;
        return was;
    }

    boolean isDense() {
        return System.nanoTime() - last < DENSE && row >= ENOUGH;
    }
}
