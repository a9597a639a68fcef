package org.kverbs.embedded.internal.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets threads into the engine beside each other, without its lock, while no thread holds the lock. A sharer only does
 * short work that ends at once: it waits for nothing, calls no code of the program, and never takes the lock. It
 * changes nothing but what it has locked besides, such as its two queue pairs.
 *
 * <p>A sharer marks a place of its own, and then looks whether the lock is held; if so, it gives up. A thread that has
 * taken the lock waits until no place is marked. So the holder of the lock is alone, as if there were no sharers.
 */
public final class Sharers {

    /** What {@link #enter} returns to a thread that needs the lock. */
    public static final int REFUSED = -1;

    private static final int PLACES = 16;
    /** How many places a thread tries: another thread may use the first. */
    private static final int TRIES = 4;
    /** The numbers between two places, so that no two of them share a cache line or a pair of lines. */
    private static final int STRIDE = 32;
    /** How often the holder of the lock looks at a place before it offers its processor to the sharer. */
    private static final int LOOKS = 200;

    private static final VarHandle MARK = MethodHandles.arrayElementVarHandle(int[].class);
    private static final VarHandle USED = handle();

    private final ReentrantLock lock;
    private final int[] marks = new int[(PLACES + 1) * STRIDE];
    /** The places that were ever marked: bit n for place n. Mostly few are, and the holder looks at these alone. */
    @SuppressWarnings("UnusedVariable") // read by its handle
    private int used;
    /** False if all threads take the lock; changed with the lock held. */
    private boolean isOpen = true;

    Sharers(ReentrantLock lock) {
        this.lock = lock;
    }

    private static VarHandle handle() {
        try {
            return MethodHandles.lookup().findVarHandle(Sharers.class, "used", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Makes all threads take the lock, or no longer; called with the lock held. For tests that compare both ways. */
    public void permit(boolean open) {
        isOpen = open;
    }

    /**
     * Lets the calling thread in, until {@link #exit}, or returns {@link #REFUSED} if a thread holds the lock, even the
     * calling one.
     */
    public int enter() {
        if (lock.isLocked()) { // a stack that is too short for this overflows here, and not behind the mark
            return REFUSED;
        }
        int first = (int) Thread.currentThread().threadId();
        for (int i = 0; i < TRIES; i++) {
            int place = first + i & PLACES - 1;
            if (((int) USED.getVolatile(this) & 1 << place) == 0) {
                USED.getAndBitwiseOr(this, 1 << place);
            }
            clear(at(place) + 1); // nobody reads it: a stack that is too short to take the mark back overflows here
            if ((int) MARK.getOpaque(marks, at(place)) == 0 && MARK.compareAndSet(marks, at(place), 0, 1)) {
                if (!lock.isLocked() && isOpen) {
                    return place;
                }
                clear(at(place));
                return REFUSED;
            }
        }
        return REFUSED;
    }

    /** Ends what {@link #enter} began. */
    public void exit(int place) {
        clear(at(place));
    }

    private void clear(int at) {
        MARK.setRelease(marks, at, 0);
    }

    private static int at(int place) {
        return (place + 1) * STRIDE;
    }

    /** Waits until no sharer is left; called by each thread that has just taken the lock. */
    // The yield only offers the processor, nothing relies on it.
    @SuppressWarnings("ThreadPriorityCheck")
    void await() {
        for (int left = (int) USED.getVolatile(this); left != 0; left &= left - 1) {
            int at = at(Integer.numberOfTrailingZeros(left));
            for (int looks = 0; (int) MARK.getVolatile(marks, at) != 0; looks++) {
                if (looks < LOOKS) {
                    Thread.onSpinWait();
                } else {
                    Thread.yield();
                }
            }
        }
    }
}
