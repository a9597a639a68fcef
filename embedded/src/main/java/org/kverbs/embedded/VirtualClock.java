package org.kverbs.embedded;

import java.time.Duration;
import org.kverbs.embedded.internal.engine.Engine;

/**
 * The time of a fabric whose timeouts take no time. It stands still while there is something to do, and whoever waits on one of the
 * fabric's devices (polls an empty completion queue, awaits an event) moves it on to the next timer or packet. A retry count of seven with
 * the longest timeout is over within microseconds, and in the same order at each run.
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
}
