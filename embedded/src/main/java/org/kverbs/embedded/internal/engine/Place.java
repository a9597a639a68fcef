package org.kverbs.embedded.internal.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A place of {@link Sharers}, which one thread at a time can have. */
public final class Place extends PlaceMargin {

    private static final VarHandle MARK = handle();

    /**
     * A number of the thread that has the place, or 0. A thread that can't call {@link #leave}, since its stack is too
     * short for a call, sets this to 0 instead, which costs more and needs no stack. If it may have left, it first
     * looks whether this is still the number that it found here when it had come in: else another thread has the place.
     */
    public volatile int mark;

    // Together with those of the other class: no two marks are in one cache line, or in a pair of lines.
    @SuppressWarnings("unused")
    private long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15;

    Place() {}

    private static VarHandle handle() {
        try {
            return MethodHandles.lookup().findVarHandle(Place.class, "mark", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * Takes the place, unless another thread has it.
     *
     * @param number a number of the calling thread, not 0
     */
    boolean take(int number) {
        return (int) MARK.getOpaque(this) == 0 && MARK.compareAndSet(this, 0, number);
    }

    /** Gives the place back. */
    public void leave() {
        MARK.setRelease(this, 0);
    }
}
