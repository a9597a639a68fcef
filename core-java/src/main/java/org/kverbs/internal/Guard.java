package org.kverbs.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * What stands between a call on an object and the object's destruction: a call enters, a close waits until all calls
 * have left and lets none in any more. An entry is exclusive (posting and polling, which use memory of their own
 * object) or shared (everything else).
 *
 * <p>The uncontended exclusive entry costs one compare-and-set, its exit one ordinary store. A waiting thread spins a
 * little, then yields, then sleeps 50 us at a time: entries are short, except for a shared one that waits for an event
 * and is woken by the closer.
 */
public final class Guard {

    private static final int FREE = 0;
    private static final int EXCLUSIVE = -1;
    private static final int CLOSED = -2;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Guard.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** FREE, EXCLUSIVE, CLOSED, or how many shared entries there are. */
    @SuppressWarnings("unused")
    private volatile int state;

    private volatile boolean closing;
    /** Identifier of the thread that is alone inside, 0 if none. A number: storing a reference costs the collector's barrier. */
    private long owner;

    /** Makes an open guard. */
    public Guard() {}

    /** Enters alone. Returns false if the guard is closed; then nothing may be touched and nothing left. */
    public boolean enter() {
        if (closing || !STATE.compareAndSet(this, FREE, EXCLUSIVE)) {
            if (!enterSlowly()) {
                return false;
            }
        }
        owner = Thread.currentThread().threadId();
        return true;
    }

    private boolean enterSlowly() {
        refuseReentry();
        for (int round = 0; ; round++) {
            if (closing) {
                return false;
            }
            if (STATE.compareAndSet(this, FREE, EXCLUSIVE)) {
                return true;
            }
            pause(round);
        }
    }

    /** Leaves after {@link #enter}. */
    public void exit() {
        owner = 0;
        STATE.setRelease(this, FREE);
    }

    /** Enters beside other shared entries. Returns false if the guard is closed. */
    public boolean enterShared() {
        for (int round = 0; ; round++) {
            if (closing) {
                return false;
            }
            int now = (int) STATE.getVolatile(this);
            if (now >= FREE) {
                if (STATE.compareAndSet(this, now, now + 1)) {
                    return true;
                }
            } else {
                refuseReentry();
                pause(round);
            }
        }
    }

    /** Leaves after {@link #enterShared}. */
    public void exitShared() {
        STATE.getAndAdd(this, -1);
    }

    /** Lets nobody in from now on; those who are inside stay. */
    public void beginClose() {
        refuseReentry();
        closing = true;
    }

    /** Waits, after {@link #beginClose}, until everybody has left. */
    public void awaitDrained() {
        for (int round = 0; !STATE.compareAndSet(this, FREE, CLOSED) && (int) STATE.getVolatile(this) != CLOSED; round++) {
            pause(round);
        }
    }

    /** Whether {@link #beginClose} was called. */
    public boolean isClosing() {
        return closing;
    }

    /** Whether the calling thread is inside after {@link #enter}. */
    public boolean isMine() {
        return owner == Thread.currentThread().threadId();
    }

    private void refuseReentry() {
        if (isMine()) {
            throw new IllegalStateException(
                    "called inside a post to the same queue, which would wait for itself; finish the post first");
        }
    }

    private static void pause(int round) {
        if (round < 100) {
            Thread.onSpinWait();
        } else if (round < 200) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(50_000);
        }
    }
}
