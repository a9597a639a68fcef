package org.kverbs.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The right of one thread to enter a {@link Guard} by an ordinary store, until it is revoked. No bias is ever given
 * twice: the next one, even of the same thread, is another object.
 *
 * <p>The thread stores {@code inside} and then loads {@code revoked}. Whoever removes the bias stores {@code revoked},
 * runs {@link ProcessFence#run} and then loads {@code inside}. The fence happens on the processor of the thread either
 * after its store, which is then visible, or before its load, which then sees {@code revoked}. So if the remover finds
 * nobody inside after the fence, then nobody will be. The thread itself needs no fence of its processor; its store must
 * only stand before its load in the compiled code.
 */
final class Bias {

    private static final VarHandle INSIDE;

    static {
        try {
            INSIDE = MethodHandles.lookup().findVarHandle(Bias.class, "inside", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long thread;
    /** Written by the thread alone. */
    private boolean inside;

    private volatile boolean revoked;
    /** True once a fence has run after {@code revoked} was set. */
    private volatile boolean fenced;

    /**
     * @param thread the id of the thread
     */
    Bias(long thread) {
        this.thread = thread;
    }

    /** Enters if the caller is the thread of this bias, is not inside and may still enter; returns whether it did. */
    boolean enter(long caller) {
        if (caller != thread || inside) {
            return false;
        }
        inside = true;
        VarHandle.releaseFence(); // holds the compiler: the load of revoked must not move above the store
        if (revoked) {
            exit();
            return false;
        }
        return true;
    }

    /** Leaves after {@link #enter}. */
    void exit() {
        INSIDE.setRelease(this, false);
    }

    /** Returns whether the caller is the thread of this bias, and inside. */
    boolean isInside(long caller) {
        return caller == thread && inside;
    }

    /** Lets the thread enter no more, soon. */
    void revoke() {
        revoked = true;
    }

    /** Returns whether the thread may enter no more. */
    boolean isRevoked() {
        return revoked;
    }

    /** Lets the thread enter no more, and returns whether it is outside; then it stays there. */
    boolean isRemovable() {
        if (!fenced) {
            revoked = true;
            ProcessFence.run();
            fenced = true;
        }
        return !(boolean) INSIDE.getVolatile(this);
    }
}
