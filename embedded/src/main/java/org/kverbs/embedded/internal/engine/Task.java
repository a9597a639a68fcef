package org.kverbs.embedded.internal.engine;

import org.jspecify.annotations.Nullable;

/**
 * Work that goes on when what caused it is done: a send queue that may have more to send. It is queued once at most.
 */
public abstract class Task {

    @Nullable Task next;
    boolean queued;

    /** Does all it can now; called with the engine's lock held. */
    protected abstract void run();

    /** Ends what can't go on after {@link #run} threw something; called with the lock held. */
    protected void failed() {}
}
