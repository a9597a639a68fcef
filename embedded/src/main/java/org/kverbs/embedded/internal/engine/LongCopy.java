package org.kverbs.embedded.internal.engine;

/**
 * A copy of the program's memory that is made without the engine's lock, so that other threads work beside it. Queued
 * with {@link LongCopies#add}. The engine calls all methods with the lock held.
 */
public abstract class LongCopy {

    /** The native addresses and the length of the copy, set by {@link #begin}. */
    protected long from;

    protected long to;
    protected long bytes;

    /** True while a thread copies. Set with the lock held, and cleared without it. */
    volatile boolean busy;
    /** True if a verb may have changed what the copy used since it began. */
    boolean isSpoiled;

    /** Checks anew what the copy needs, and finds the memory. Returns false if there is nothing to copy any more. */
    protected abstract boolean begin();

    /**
     * Goes on after the copy, or after {@link #begin} returned false.
     *
     * @param done whether all bytes were copied
     */
    protected abstract void end(boolean done);

    /** Follows {@link #end} and all that {@link #end} made ready. */
    protected abstract void forget();
}
