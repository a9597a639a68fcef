package org.kverbs.embedded.internal.cm;

/**
 * The times of the protocol, most of them as the exponent n of 4.096 us * 2^n (IBA volume 1, 12.7.15 and following).
 */
final class Timers {

    /** 1.07 s: how long an answer may take, ours and the peer's. */
    static final int RESPONSE = 18;
    /** 68.7 s: for how long we ask to wait for an application that has not decided. */
    static final int SERVICE = 24;
    /** 0.27 s: how long a packet lives in the network, at most. What Linux reckons with on RoCE. */
    static final int PACKET_LIFE = 16;
    /** How long a device takes to acknowledge: what it says of itself. */
    static final int ACK_DELAY = 15;
    /** How often a message is sent again that is not answered. */
    static final int RETRIES = 15;
    /** The largest exponent. */
    static final int MOST = 31;

    private Timers() {}

    static long nanos(int exponent) {
        return 4096L << Math.min(exponent, MOST);
    }

    /** How long to wait for an answer to a message, with the way there and back. */
    static long answer(int exponent) {
        return nanos(exponent) + 2 * nanos(PACKET_LIFE);
    }

    /** The timeout of a queue pair: the way there and back, and the peer's delay. */
    static int acknowledgement(int packetLife, int ackDelay) {
        int ways = packetLife + 1;
        int longer = Math.max(ways, ackDelay);
        return Math.min(MOST, Math.abs(ways - ackDelay) <= 1 ? longer + 1 : longer);
    }
}
