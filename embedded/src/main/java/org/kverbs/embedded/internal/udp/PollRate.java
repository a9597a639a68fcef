package org.kverbs.embedded.internal.udp;

/**
 * Whether the program polls so often that its polls find packets sooner than a thread that has to be woken. A program
 * that polls now and then does not: a peer's reads and writes must not wait for it. Any thread may poll; the figures
 * need not be exact.
 */
final class PollRate {

    /** The longest time between two polls of a program that does little else, in nanoseconds. */
    private static final long DENSE = 50_000;
    /** So many of them in a row are no accident. */
    private static final int ENOUGH = 16;

    private int row;
    private volatile long last = System.nanoTime() - DENSE;

    /** A poll begins. */
    void begin() {
        row = System.nanoTime() - last < DENSE ? Math.min(row + 1, ENOUGH) : 0;
    }

    /** A poll ends: the time that it took for the packets it found does not count. */
    void end() {
        last = System.nanoTime();
    }

    /** The program waits for events from now on. Returns whether it polled often until now. */
    boolean stop() {
        boolean was = isDense();
        row = 0;
        last = System.nanoTime() - DENSE;
        return was;
    }

    boolean isDense() {
        return System.nanoTime() - last < DENSE && row == ENOUGH;
    }
}
