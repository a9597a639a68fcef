package org.kverbs.embedded.internal.engine;

/** Something that happens at a time: a timer runs out, a packet arrives. It stands in one {@link EventHeap} at most. */
public abstract class Event {

    /** When, in nanoseconds of the engine's clock. */
    long time;
    /** Which of two at the same time goes first: the one that was added first. */
    long order;
    /** Where it stands in the heap; below zero if it doesn't. */
    int index = -1;

    /** Does what is due; called with the engine's lock held, when the event stands in no heap any more. */
    protected abstract void happen();

    /** Ends what can't go on after {@link #happen} threw something; called with the lock held. */
    protected void failed() {}

    /** Whether it waits in a heap. */
    public final boolean isScheduled() {
        return index >= 0;
    }
}
