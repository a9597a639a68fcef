package org.kverbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A list of send requests that only one thread borrows, and any thread gives back. It is made lent. Since nobody else
 * takes it, the thread needs no atomic operation.
 */
final class OwnList {

    private static final VarHandle LENT;

    static {
        try {
            LENT = MethodHandles.lookup().findVarHandle(OwnList.class, "lent", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long thread;
    final SendRequests list = new SendRequests();
    /** Read by LENT. */
    @SuppressWarnings("unused")
    private boolean lent = true;

    /**
     * @param thread the id of the thread
     */
    OwnList(long thread) {
        this.thread = thread;
    }

    /** Lends the list if the caller is its thread and the list is there; returns whether it did. */
    boolean take(long caller) {
        if (caller != thread || (boolean) LENT.getAcquire(this)) {
            return false;
        }
        lent = true;
        return true;
    }

    /** Takes the cleared list back. */
    void giveBack() {
        LENT.setRelease(this, false);
    }
}
