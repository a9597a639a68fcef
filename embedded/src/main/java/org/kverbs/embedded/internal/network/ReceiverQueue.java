package org.kverbs.embedded.internal.network;

import org.kverbs.embedded.Faults;

/** Holds the packets that wait for a slow receiver, whatever way they come. */
final class ReceiverQueue {

    /** When the receiver has taken all packets. */
    private long busyUntil;
    /** The most packets that waited at once. */
    private int longest;

    /** Returns how many packets wait at a time for a receiver that takes one in {@code each} nanoseconds. */
    int waiting(long time, long each) {
        return (int) Math.max(0, (busyUntil - time) / each);
    }

    /**
     * Adds a packet that arrives after {@code delay}. Returns the delay after which it is taken, or -1 if the queue is
     * full.
     */
    long add(long now, long delay, long each) {
        long arrival = now + delay;
        if (busyUntil - arrival > each * Faults.QUEUE) {
            return -1;
        }
        busyUntil = Math.max(busyUntil, arrival) + each;
        longest = Math.max(longest, waiting(arrival, each));
        return busyUntil - now;
    }

    int longest() {
        return longest;
    }
}
