package org.kverbs.embedded.internal.engine;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Takes the lock of an engine. A call holds the lock for a microsecond or less, and a thread that parks gets the
 * processor back many microseconds later. So a thread that finds the lock taken looks again for a short time before it
 * parks. A thread that parked competes with those that look, as with those that come later: the lock is not fair.
 */
final class Entrance {

    /** How long a thread looks before it parks: about what it costs to park and to be woken. */
    private static final long LOOK_NANOS = TimeUnit.MICROSECONDS.toNanos(20);
    /**
     * How often a thread lets the processor pause between two looks, a microsecond or so. A thread that looks all the
     * time gets the lock at once. Then all that the lock guards moves to another processor for a single call, and two
     * threads on two connections take twice the time.
     */
    private static final int PAUSES = 32;

    /** Whether threads run at the same time: with one processor, the holder of the lock waits for those that look. */
    static final boolean HAS_OTHERS = Runtime.getRuntime().availableProcessors() > 1;

    private final ReentrantLock lock;
    private final Sharers sharers;

    Entrance(ReentrantLock lock, Sharers sharers) {
        this.lock = lock;
        this.sharers = sharers;
    }

    /** Takes the lock, and waits for the threads that are in the engine without it. */
    void enter() {
        StackRoom.probe();
        takeLock();
        awaitSharers();
    }

    /**
     * Enters again, for a thread that has let others in for a while and left its call unfinished: it holds the lock
     * afterwards, even if this throws. It has called {@link StackRoom#probe} before it let others in.
     */
    void enterAgain() {
        takeLock();
        sharers.await();
    }

    private void takeLock() {
        if (!lock.tryLock() && !(HAS_OTHERS && enterSoon())) {
            lock.lock();
        }
    }

    /** Waits for the threads that are in the engine without the lock. Releases the lock if that throws an exception. */
    private void awaitSharers() {
        boolean isAlone = false;
        try {
            sharers.await();
            isAlone = true;
        } finally {
            if (!isAlone) {
                lock.unlock(); // the error of a file that the program touched before can come here
            }
        }
    }

    /** Takes the lock if it becomes free within a time, and waits for the threads that are in the engine without it. */
    boolean enter(long nanos) throws InterruptedException {
        StackRoom.probe();
        boolean isEntered = lock.tryLock(nanos, TimeUnit.NANOSECONDS);
        if (isEntered) {
            awaitSharers();
        }
        return isEntered;
    }

    /** Takes the lock if it becomes free within {@link #LOOK_NANOS}. */
    private boolean enterSoon() {
        long start = System.nanoTime();
        do {
            for (int i = 0; i < PAUSES; i++) {
                Thread.onSpinWait();
            }
            if (!lock.isLocked() && lock.tryLock()) {
                return true;
            }
        } while (System.nanoTime() - start < LOOK_NANOS);
        return false;
    }
}
