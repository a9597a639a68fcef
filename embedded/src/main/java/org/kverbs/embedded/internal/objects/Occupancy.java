package org.kverbs.embedded.internal.objects;

import org.kverbs.embedded.Semantics;

/**
 * Counts the occupied slots of a send or receive queue. With strict semantics a request keeps its slot until the
 * program polls its completion, or a later one that proves it done. With those of rxe a request keeps its slot until it
 * is done.
 */
public final class Occupancy {

    private final boolean untilPolled;
    private int count;
    /** Requests that are done without a completion: the poll of the next completion frees their slots, too. */
    private int unsignaled;

    public Occupancy(Semantics semantics) {
        this.untilPolled = semantics == Semantics.STRICT;
    }

    public int count() {
        return count;
    }

    /** Notes that a request was posted. */
    public void take() {
        count++;
    }

    /** Frees the slots of requests, because their completion was polled or because none will come. */
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
     * Notes that a request with a completion is done. Returns how many slots to {@linkplain #free free} when the
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

    public void clear() {
        count = 0;
        unsignaled = 0;
    }
}
