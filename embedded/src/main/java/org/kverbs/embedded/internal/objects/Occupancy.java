package org.kverbs.embedded.internal.objects;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.kverbs.embedded.Semantics;

/**
 * Counts the occupied slots of a send or receive queue. With strict semantics a request keeps its slot until the
 * program polls its completion, or a later one that proves it done. With those of rxe a request keeps its slot until it
 * is done.
 *
 * <p>Polls free slots without the engine's lock. All other methods are called with the lock held, or while no thread
 * has it and the caller has locked the queue pair.
 */
public final class Occupancy {

    private static final VarHandle POLLED = handle();

    private final boolean untilPolled;
    /** Whether several completion queues have completions of these slots, which several threads can poll at once. */
    private final boolean isShared;
    /** The slots that were taken, without those that were freed otherwise than by polls. */
    private int count;
    /** The slots that polls have freed; wraps, as {@link #count} does. */
    private int polled;
    /** Requests that are done without a completion: the poll of the next completion frees their slots, too. */
    private int unsignaled;

    /** @param isShared whether the completions are in several completion queues, as those of a shared receive queue */
    public Occupancy(Semantics semantics, boolean isShared) {
        this.untilPolled = semantics == Semantics.STRICT;
        this.isShared = isShared;
    }

    private static VarHandle handle() {
        try {
            return MethodHandles.lookup().findVarHandle(Occupancy.class, "polled", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    public int count() {
        return count - (int) POLLED.getAcquire(this);
    }

    /** Notes that a request was posted. */
    public void take() {
        count++;
    }

    /**
     * Frees the slots of requests, because their completion was polled. Callable without the lock; if the slots are not
     * shared, only by one thread at a time.
     */
    void polled(int requests) {
        if (isShared) {
            POLLED.getAndAdd(this, requests);
        } else {
            POLLED.setRelease(this, polled + requests);
        }
    }

    /** Frees the slots of requests, because no completion will come. */
    public void free(int requests) {
        count -= requests;
    }

    /** Notes that a request without a completion is done. */
    public void doneUnsignaled() {
        if (untilPolled) {
            unsignaled++;
        } else {
            count--;
        }
    }

    /**
     * Notes that a request with a completion is done. Returns how many slots to {@linkplain #polled free} when the
     * program polls it.
     */
    public int done() {
        if (!untilPolled) {
            count--;
            return 0;
        }
        int requests = unsignaled + 1;
        unsignaled = 0;
        return requests;
    }

    /** Takes back what {@link #done} gave, as the completion was lost: the poll of the next one frees the slots. */
    void lost(int requests) {
        unsignaled += requests;
    }

    /** Frees all slots; called when no completion of these slots can be polled any more. */
    public void clear() {
        count = (int) POLLED.getAcquire(this);
        unsignaled = 0;
    }
}
