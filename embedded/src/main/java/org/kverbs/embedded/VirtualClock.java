package org.kverbs.embedded;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Event;

/**
 * The time of a fabric whose timeouts take no time. It stands still while there is something to do. A thread that waits
 * on one of the fabric's devices (polls an empty completion queue, awaits an event) moves it on to the next timer or
 * packet, unless it is {@linkplain #hold held}. A retry count of seven with the longest timeout is over within
 * microseconds, and in the same order at each run. A wait that timers never end, as an rnr_retry of 7 (for ever) makes
 * it, fails with an IllegalStateException after five million of them.
 *
 * <p>Any thread may use it.
 */
public final class VirtualClock {

    private final Engine engine;

    VirtualClock(Engine engine) {
        this.engine = engine;
    }

    /** Time that has passed since the fabric was made. */
    public Duration elapsed() {
        engine.enter();
        try {
            return Duration.ofNanos(engine.now());
        } finally {
            engine.leave();
        }
    }

    /**
     * Lets time pass, and everything happen that is due until then.
     *
     * @throws IllegalArgumentException if the time is negative
     */
    public void advance(Duration time) {
        if (time.isNegative()) {
            throw new IllegalArgumentException("advance by " + time + ": time goes forward only");
        }
        engine.enter();
        try {
            engine.advance(time.toNanos());
        } finally {
            engine.leave();
        }
    }

    /**
     * From now on, and for good, time doesn't move when somebody waits: only by {@link #next} and {@link #advance}.
     * Polls of empty queues find nothing, and a wait for an event with a timeout goes by the real clock. So time
     * stands still while a program works that polls more than one queue, or has more than one thread.
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
     * Moves on to the next timer or packet, and lets that and what follows from it at once happen.
     *
     * @return false if nothing is to happen any more, unless somebody does something
     * @throws IllegalStateException if five million of them in a row brought no completion and no event, as a queue
     *     pair tries again for ever; {@link #advance} knows no such limit
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
     * Whether nothing is to happen any more unless somebody does something: no timer runs and no packet is on its way.
     * A caller that waits then waits for another thread, or in vain.
     */
    public boolean isIdle() {
        engine.enter();
        try {
            return engine.scheduled() == 0;
        } finally {
            engine.leave();
        }
    }

    /** Whether all calls on the fabric's devices so far came from one thread, this one included. */
    public boolean isOnOneThread() {
        engine.enter();
        try {
            return !engine.isShared();
        } finally {
            engine.leave();
        }
    }

    /**
     * Has something done when a time has passed, in order with the timers and packets of the fabric: a cable is pulled
     * in the middle of a transfer, somebody is woken.
     *
     * @param action called by the thread that moves the clock, with the lock of all devices held: it must be quick,
     *     wait for nobody and not throw
     * @return cancels it when it is run; without effect once the action was called
     * @throws IllegalArgumentException if the time is negative
     */
    public Runnable after(Duration time, Runnable action) {
        Objects.requireNonNull(action, "action");
        if (time.isNegative()) {
            throw new IllegalArgumentException("an action after " + time + ": time goes forward only");
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
