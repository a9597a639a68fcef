package org.kverbs.embedded;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Event;

/**
 * Moves the time of a fabric, so that timeouts pass without waiting. Time stands still while a device has work to do. A
 * thread that waits on one of the fabric's devices (polls an empty completion queue, awaits an event) moves the clock
 * to the next timer or packet, unless the clock is {@linkplain #hold held}. A retry count of seven with the longest
 * timeout passes within microseconds, in the same order in each run. If five million timers and packets in a row bring
 * nothing, as with an rnr_retry of 7 (retry for ever), the wait fails with an IllegalStateException.
 *
 * <p>Any thread may use it.
 */
public final class VirtualClock {

    private final Engine engine;

    VirtualClock(Engine engine) {
        this.engine = engine;
    }

    /** Returns the time that has passed since the fabric was made. */
    public Duration elapsed() {
        engine.enter();
        try {
            return Duration.ofNanos(engine.now());
        } finally {
            engine.leave();
        }
    }

    /**
     * Moves the clock by this time. Everything that is due until then happens.
     *
     * @throws IllegalArgumentException if the time is negative
     */
    public void advance(Duration time) {
        if (time.isNegative()) {
            throw new IllegalArgumentException("the clock can't advance by " + time + ": give a time of zero or more");
        }
        engine.enter();
        try {
            engine.advance(time.toNanos());
        } finally {
            engine.leave();
        }
    }

    /**
     * Stops threads that wait from moving the clock, from now on and for good. Only {@link #next} and {@link #advance}
     * move a held clock. Polls of empty queues find nothing, and a wait for an event with a timeout uses the real
     * clock. Hold the clock if a program polls more than one queue or has more than one thread.
     */
    public void hold() {
        engine.enter();
        try {
            engine.hold();
        } finally {
            engine.leave();
        }
    }

    /**
     * Moves the clock to the next timer or packet, which then happens with all its immediate consequences.
     *
     * @return false if no timer runs and no packet travels
     * @throws IllegalStateException if five million timers and packets in a row brought no completion and no event, as
     *     when a queue pair retries for ever; {@link #advance} has no such limit
     */
    public boolean next() {
        engine.enter();
        try {
            return engine.step();
        } finally {
            engine.leave();
        }
    }

    /**
     * Tells whether no timer runs and no packet travels. A caller that waits then waits for another thread, or in vain.
     */
    public boolean isIdle() {
        engine.enter();
        try {
            return engine.scheduled() == 0;
        } finally {
            engine.leave();
        }
    }

    /** Tells whether all calls on the fabric's devices so far came from one thread, including this call. */
    public boolean isOnOneThread() {
        engine.enter();
        try {
            return !engine.isShared();
        } finally {
            engine.leave();
        }
    }

    /**
     * Runs an action when a time has passed, in order with the timers and packets of the fabric. For example, the
     * action unplugs a cable in the middle of a transfer.
     *
     * @param action called by the thread that moves the clock, with the lock of all devices held: it must return
     *     quickly, and must neither wait for another thread nor throw
     * @return cancels the action when it is run; does nothing if the action was called
     * @throws IllegalArgumentException if the time is negative
     */
    public Runnable after(Duration time, Runnable action) {
        Objects.requireNonNull(action, "action");
        if (time.isNegative()) {
            throw new IllegalArgumentException("an action can't run after " + time + ": give a time of zero or more");
        }
        Event event = new Event() {
            @Override
            protected void happen() {
                engine.advanced();
                action.run();
            }
        };
        engine.enter();
        try {
            engine.schedule(event, Math.min(TimeUnit.NANOSECONDS.convert(time), Long.MAX_VALUE - engine.now()));
        } finally {
            engine.leave();
        }
        return () -> {
            engine.enter();
            try {
                engine.cancel(event);
            } finally {
                engine.leave();
            }
        };
    }
}
