package org.kverbs.embedded.internal.network;

import org.kverbs.embedded.Faults;

/** Holds the packets that wait for a slow receiver, whatever way they come. */
final class ReceiverQueue {

    /** When the receiver has taken all packets. */
    private long busyUntil;
    /** The most packets that waited at once. */
    private int longest;

    /** Returns how many packets wait for a receiver that takes one in {@code each} nanoseconds. */
    int waiting(long now, long each) {
        return (int) Math.max(0, (busyUntil - now) / each);
    }

    /**
     * Adds a packet that arrives after {@code delay}. Returns the delay after which it is taken, or -1 if the queue is
     * full.
     */
    long add(long now, long delay, long each) {
        if (busyUntil - now > each * Faults.QUEUE) {
            return -1;
        }
        busyUntil = Math.max(busyUntil, now + delay) + each;
        longest = Math.max(longest, waiting(now, each));
        return busyUntil - now;
    }

    int longest() {
        return longest;
    }
}
