package org.kverbs.embedded.internal.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Lets threads into the engine beside each other, without its lock, while no thread holds the lock. A sharer only does
 * short work that ends at once: it waits for nothing, calls no code of the program, and never takes the lock. It
 * changes nothing but what it has locked besides, such as its two queue pairs.
 *
 * <p>A sharer marks a place of its own, and then looks whether the lock is held; if so, it gives up. A thread that has
 * taken the lock waits until no place is marked. So the holder of the lock is alone, as if there were no sharers.
 */
public final class Sharers {

    private static final int PLACES = 16;
    /** How many places a thread tries: another thread may use the first. */
    private static final int TRIES = 4;
    /** How often the holder of the lock looks at a place before it offers its processor to the sharer. */
    private static final int LOOKS = 200;

    private static final VarHandle USED = handle();

    private final ReentrantLock lock;
    private final Place[] places = new Place[PLACES];
    /** The places that were ever taken: bit n for place n. Mostly few are, and the holder looks at these alone. */
    private volatile int used;
    /** False if all threads take the lock; changed with the lock held. */
    private boolean isOpen = true;

    Sharers(ReentrantLock lock) {
        this.lock = lock;
        for (int i = 0; i < PLACES; i++) {
            places[i] = new Place();
        }
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
     * Lets the calling thread in, until {@link Place#leave}, or returns null if a thread holds the lock, even the
     * calling one.
     */
    public @Nullable Place enter() {
        if (lock.isLocked()) {
            return null;
        }
        int first = (int) Thread.currentThread().threadId();
        int own = first == 0 ? 1 : first;
        for (int i = 0; i < TRIES; i++) {
            int number = first + i & PLACES - 1;
            if ((used & 1 << number) == 0) {
                USED.getAndBitwiseOr(this, 1 << number);
            }
            Place place = places[number];
            if (place.take(own)) {
                boolean isIn = false;
                try {
                    isIn = !lock.isLocked() && isOpen;
                } finally {
                    if (!isIn) {
                        place.mark = 0; // not leave(): on a stack that is too short any call throws
                    }
                }
                return isIn ? place : null;
            }
        }
        return null;
    }

    /**
     * Tells a thread that was not let in whether a further try makes sense: another thread has the lock, and there is
     * another processor on which that thread can run.
     */
    public boolean mayOpen() {
        return isOpen && Entrance.HAS_OTHERS && !lock.isHeldByCurrentThread();
    }

    /** Waits until no sharer is left; called by each thread that has just taken the lock. */
    void await() {
        for (int left = used; left != 0; left &= left - 1) {
            awaitPlace(places[Integer.numberOfTrailingZeros(left)]);
        }
    }

    // The yield only offers the processor, nothing relies on it.
    @SuppressWarnings("ThreadPriorityCheck")
    private static void awaitPlace(Place place) {
        for (int looks = 0; place.mark != 0; looks++) {
            if (looks < LOOKS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
    }
}
