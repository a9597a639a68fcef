package org.kverbs.embedded;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts how often an injected {@link Failure} happened, and ends it when it is closed. Any thread may use it. */
public final class Injection implements AutoCloseable {

    private final Failure failure;
    private final AtomicInteger seen = new AtomicInteger();
    private volatile boolean closed;

    Injection(Failure failure) {
        this.failure = failure;
    }

    /** Returns the injected failure. */
    public Failure failure() {
        return failure;
    }

    /** Returns how many matching calls or work requests came so far, failed or not. */
    public int seen() {
        return seen.get();
    }

    /**
     * Returns how many calls or work requests failed so far. A test that expects the failure checks this at its end.
     */
    public int happened() {
        return Math.clamp((long) seen.get() - failure.first() + 1, 0, failure.count());
    }

    /** Counts a call or request, and tells whether it fails. */
    boolean hits() {
        if (closed) {
            return false;
        }
        int number = seen.incrementAndGet();
        return number >= failure.first() && (long) number - failure.first() < failure.count();
    }

    /** Tells whether no further failure can happen. */
    boolean isOver() {
        return closed || (long) seen.get() - failure.first() + 1 >= failure.count();
    }

    /** Ends the injection: nothing fails any more. */
    @Override
    public void close() {
        closed = true;
    }
}
