package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.engine.Event;

/**
 * Limits the rate of the requests that a queue pair sends (man 3 ibv_modify_qp_rate_limit). Each packet books the time
 * that its payload takes at the rate; the next packet waits until that time has passed, or all but a burst of it.
 */
final class Pacer {

    /** A byte at one kilobit a second takes so many nanoseconds. */
    private static final long BYTE_NANOS = 8_000_000;

    private final Qp qp;
    /** The rate in kilobits a second; 0 if there is no limit. */
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
    void limit(long newKbps, long burstBytes) {
        kbps = newKbps;
        burst = newKbps == 0 ? 0 : time(burstBytes);
        booked = qp.hca.engine.now();
        qp.hca.engine.cancel(turn);
        qp.hca.engine.ready(qp);
    }

    /** Ends the limit of a queue pair that sends no more. */
    void stop() {
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
        }
    }
}
