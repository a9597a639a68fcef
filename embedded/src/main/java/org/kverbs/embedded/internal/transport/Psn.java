package org.kverbs.embedded.internal.transport;

/** Computes with packet sequence numbers: 24 bits that wrap (IBA volume 1, 9.7.2). */
final class Psn {

    static final int MASK = 0xffffff;

    private Psn() {}

    static int plus(int psn, int count) {
        return (psn + count) & MASK;
    }

    /** Returns how far {@code a} is after {@code b}; below zero if it is before. */
    static int distance(int a, int b) {
        return (a - b) << 8 >> 8;
    }

    /**
     * Returns how many PSNs there are from {@code first} to before {@code end}, up to 2^23, the number of the longest
     * message.
     */
    static int countTo(int end, int first) {
        return distance(plus(end, -1), first) + 1;
    }

    /** Returns how many packets a message takes. */
    static int count(long length, int mtu) {
        return length == 0 ? 1 : (int) ((length + mtu - 1) / mtu);
    }
}
