package org.kverbs.embedded;

import java.util.concurrent.atomic.AtomicInteger;

/** A {@link Failure} that was injected: says how often it happened, and ends it. Any thread may use it. */
public final class Injection implements AutoCloseable {

    private final Failure failure;
    private final AtomicInteger seen = new AtomicInteger();
    private volatile boolean closed;

    Injection(Failure failure) {
        this.failure = failure;
    }

    /** What was injected. */
    public Failure failure() {
        return failure;
    }

    /** How many calls or work requests it was looked for at so far, failed or not. */
    public int seen() {
        return seen.get();
    }

    /** How often it happened so far. A test that expects it asks at the end. */
    public int happened() {
        return Math.clamp((long) seen.get() - failure.first() + 1, 0, failure.count());
    }

    /** Counts a call or request, and says whether it fails. */
    boolean hits() {
        if (closed) {
            return false;
        }
        int number = seen.incrementAndGet();
        return number >= failure.first() && (long) number - failure.first() < failure.count();
    }

    /** Whether it can happen no more. */
    boolean isOver() {
        return closed || (long) seen.get() - failure.first() + 1 >= failure.count();
    }

    /** Ends it: it happens no more. */
    @Override
    public void close() {
        closed = true;
    }
}
