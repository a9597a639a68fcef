package org.kverbs.embedded.internal.objects;

import org.kverbs.embedded.Semantics;

/**
 * How many slots of a send or receive queue are taken. By strict semantics a request keeps its slot until its
 * completion was polled, or one that says that it is done, too; by rxe's until it is done.
 */
public final class Occupancy {

    private final boolean untilPolled;
    private int count;
    /** Requests that are done without a completion: the next one's poll frees their slots, too. */
    private int unsignaled;

    public Occupancy(Semantics semantics) {
        this.untilPolled = semantics == Semantics.STRICT;
    }

    public int count() {
        return count;
    }

    /** A request was posted. */
    public void take() {
        count++;
    }

    /** So many requests have gone without a completion that could be polled, or their completion was polled. */
    public void free(int requests) {
        count -= requests;
    }

    /** A request was done that has no completion. */
    public void doneUnsignaled() {
        if (untilPolled) {
            unsignaled++;
        } else {
            count--;
        }
    }

    /**
     * A request was done that has a completion. Returns how many slots are to be {@linkplain #free freed} when that is
     * polled.
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

    public void clear() {
        count = 0;
        unsignaled = 0;
    }
}
