package org.kverbs.embedded.internal.engine;

import org.jspecify.annotations.Nullable;

/**
 * Continues work when the call that caused it is done: for example, a send queue that may have more to send. A task is
 * queued at most once.
 */
public abstract class Task {

    @Nullable Task next;
    boolean queued;

    /** Does all the work that is possible now. Called with the engine's lock held. */
    protected abstract void run();

    /** Ends the work that cannot go on after {@link #run} threw an exception. Called with the lock held. */
    protected void failed() {}
}
