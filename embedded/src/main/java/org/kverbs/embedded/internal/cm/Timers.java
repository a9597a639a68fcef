package org.kverbs.embedded.internal.cm;

/**
 * Lists the times of the protocol, most of them as the exponent n of 4.096 us * 2^n (IBA volume 1, 12.7.15 and
 * following).
 */
final class Timers {

    /** 1.07 s: how long an answer may take, on either side. */
    static final int RESPONSE = 18;
    /** 68.7 s: how long we ask a peer to wait for an application that has not decided. */
    static final int SERVICE = 24;
    /** 0.27 s: the longest time that a packet lives in the network. Linux assumes the same on RoCE. */
    static final int PACKET_LIFE = 16;
    /** How long a device may take to acknowledge, as it announces in its messages. */
    static final int ACK_DELAY = 15;
    /** How often an unanswered message is sent again. */
    static final int RETRIES = 15;
    /** The largest exponent. */
    static final int MOST = 31;

    private Timers() {}

    static long nanos(int exponent) {
        return 4096L << Math.min(exponent, MOST);
    }

    /** Returns how long to wait for an answer to a message, including the way there and back. */
    static long answer(int exponent) {
        return nanos(exponent) + 2 * nanos(PACKET_LIFE);
    }

    /** Returns the timeout of a queue pair: the way there and back, and the peer's delay. */
    static int acknowledgement(int packetLife, int ackDelay) {
        int ways = packetLife + 1;
        int longer = Math.max(ways, ackDelay);
        return Math.min(MOST, Math.abs(ways - ackDelay) <= 1 ? longer + 1 : longer);
    }
}
