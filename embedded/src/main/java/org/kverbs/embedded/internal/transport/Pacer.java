package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.engine.Event;

/**
 * Limits the rate of the requests that a queue pair sends: to the rate that the program sets (man 3
 * ibv_modify_qp_rate_limit) and to the rate of {@link Congestion}, whichever is lower. Each packet books the time that
 * its payload takes at the rate; the next packet waits until that time has passed, or all but a burst of it.
 */
final class Pacer {

    /** A byte at one kilobit a second takes so many nanoseconds. */
    private static final long BYTE_NANOS = 8_000_000;

    private final Qp qp;
    /** The rate that the program sets, in kilobits a second; 0 for none. */
    private long limit;
    /** The bytes that may leave at once at that rate. */
    private long burstBytes;
    /** The rate of the congestion control, in kilobits a second; 0 for none. */
    private long congestion;
    /** The lower of the two rates; 0 if there is no limit. */
    private long kbps;
    /** The time of a burst, in nanoseconds. */
    private long burst;
    /** The end of the booked time, by the engine's clock. */
    private long booked;

    private final Event turn = new Event() {
        @Override
        protected void happen() {
            qp.hca.engine.ready(qp);
        }
    };

    Pacer(Qp qp) {
        this.qp = qp;
    }

    /** Limits the rate from now on; 0 ends the limit. */
    void limit(long newKbps, long newBurst) {
        limit = newKbps;
        burstBytes = newBurst;
        booked = qp.hca.engine.now();
        change();
    }

    /** Returns the rate that the program sets; 0 for none. */
    long limit() {
        return limit;
    }

    /** Limits the rate to that of the congestion control from now on; 0 ends that limit. */
    void congest(long newKbps) {
        congestion = newKbps;
        change();
    }

    private void change() {
        long before = kbps;
        kbps = congestion == 0 || limit != 0 && limit < congestion ? limit : congestion;
        burst = kbps == 0 || kbps != limit ? 0 : time(burstBytes);
        long now = qp.hca.engine.now();
        if (before != 0 && kbps != 0 && booked > now) {
            booked = now + (long) ((double) (booked - now) * before / kbps);
        }
        qp.hca.engine.cancel(turn);
        qp.hca.engine.ready(qp);
    }

    /** Ends the limits of a queue pair that sends no more. */
    void stop() {
        limit = 0;
        congestion = 0;
        kbps = 0;
        qp.hca.engine.cancel(turn);
    }

    boolean isLimited() {
        return kbps != 0;
    }

    /** Tells whether the next packet waits for its turn. */
    boolean isHolding() {
        return turn.isScheduled();
    }

    private long time(long bytes) {
        return bytes * BYTE_NANOS / kbps;
    }

    /** Tells whether the next packet must wait. The queue pair goes on by itself when it may be sent. */
    boolean mustWait() {
        if (kbps == 0) {
            return false;
        }
        long wait = booked - burst - qp.hca.engine.now();
        if (wait <= 0) {
            return false;
        }
        if (!turn.isScheduled()) {
            qp.hca.engine.schedule(turn, wait);
        }
        return true;
    }

    /** Books the time of a packet. */
    void sends(int bytes) {
        if (kbps != 0) {
            booked = Math.max(booked, qp.hca.engine.now()) + time(bytes);
            if (congestion != 0) {
                qp.congestion.sent(bytes);
            }
        }
    }

    /**
     * Returns how long the next packet of an answer must wait, in nanoseconds. Only the congestion control holds
     * answers back: the program limits its requests.
     */
    long answerWait() {
        return congestion == 0 ? 0 : Math.max(0, booked - burst - qp.hca.engine.now());
    }

    /** Books the time of a packet of an answer. */
    void answers(int bytes) {
        if (congestion != 0) {
            sends(bytes);
        }
    }
}
