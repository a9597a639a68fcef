package org.kverbs.embedded.internal.engine;

/** Happens at a time: a timer expires, or a packet arrives. An event stands in at most one {@link EventHeap}. */
public abstract class Event {

    /** The time at which the event happens, in nanoseconds of the engine's clock. */
    long time;
    /** Orders events of the same time: the event with the lower number was added first and happens first. */
    long order;
    /** The place in the heap; below zero if the event is in no heap. */
    int index = -1;

    /** Does what is due. Called with the engine's lock held, when the event is in no heap any more. */
    protected abstract void happen();

    /** Ends the work that cannot go on after {@link #happen} threw an exception. Called with the lock held. */
    protected void failed() {}

    /** Tells whether the event is in a heap. */
    public final boolean isScheduled() {
        return index >= 0;
    }
}
