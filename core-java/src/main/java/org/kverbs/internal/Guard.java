package org.kverbs.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Keeps an object from being destroyed while calls on it run. A call enters the guard and leaves it. A close admits no
 * further calls and waits until all have left. An entry is exclusive, for posting and polling, which use memory of the
 * object itself, or shared, for all other calls.
 *
 * <p>The uncontended exclusive entry costs one compare-and-set, its exit one ordinary store. A thread that enters alone
 * many times in a row gets a {@link Bias}, with which the entry costs one ordinary store too. The next other thread
 * takes the bias away, and further threads need more entries in a row to get one.
 *
 * <p>A waiting thread spins for a short time, then yields, then parks until a leaving thread wakes it. The store is no
 * fence, so a leaving thread can miss a thread that parks at the same moment. Therefore a parked thread also checks by
 * itself, after 50 us and then at growing intervals of at most one millisecond.
 *
 * <p>A stack that overflows within an entry or an exit can leave the guard taken for ever, which a monitor would not.
 */
public final class Guard {

    private static final int FREE = 0;
    private static final int EXCLUSIVE = -1;
    private static final int CLOSED = -2;
    /** A thread has the bias: it is inside alone, or nobody is. */
    private static final int BIASED = -3;

    private static final int FIRST_STREAK = 64;
    /** Each bias that is taken away multiplies the entries that the next one needs, up to the longest streak. */
    private static final int STREAK_GROWTH = 8;

    private static final int LONGEST_STREAK = 1 << 21;

    private static final long SHORTEST_PARK_NANOS = 50_000;
    private static final long LONGEST_PARK_NANOS = 1_000_000;

    private static final VarHandle STATE;
    private static final VarHandle PARKED;
    private static final VarHandle BIAS;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Guard.class, "state", int.class);
            PARKED = MethodHandles.lookup().findVarHandle(Guard.class, "parked", Queue.class);
            BIAS = MethodHandles.lookup().findVarHandle(Guard.class, "bias", Bias.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The kind of entry: beside other threads, alone, or as the closing thread after all others have left. */
    private enum Entry {
        SHARED,
        ALONE,
        LAST
    }

    private enum Outcome {
        ENTERED,
        CLOSED,
        BUSY
    }

    /** FREE, EXCLUSIVE, CLOSED, BIASED, or the number of shared entries. */
    @SuppressWarnings("unused")
    private volatile int state;

    private volatile boolean closing;
    /**
     * The id of the thread that is alone inside without a bias, 0 for none. A thread id rather than a Thread: storing a
     * reference would cost a GC write barrier.
     */
    private long owner;
    /** Not null only while the state is BIASED. Changed by the thread that is alone inside, and by who removes it. */
    private volatile @Nullable Bias bias;
    /** The thread of the last entry alone without a bias, and how many it has made in a row. */
    private long last;

    private int streak;
    private int neededStreak = FIRST_STREAK;
    /** The parked threads, the one that has waited longest first; null until the first thread parks. */
    private volatile @Nullable Queue<Thread> parked;

    /** Makes an open guard. */
    public Guard() {}

    /**
     * Enters alone. Returns false if the guard is closed; then the caller must not use the object and must not call
     * {@link #exit}.
     */
    public boolean enter() {
        Bias held = bias;
        return held != null && held.enter(Thread.currentThread().threadId()) || enterUnbiased();
    }

    /**
     * Enters alone if nobody is inside, and does not wait. Returns false if a thread is inside, which can be the
     * caller, or if the guard is closed.
     */
    public boolean tryEnter() {
        long self = Thread.currentThread().threadId();
        Bias held = bias;
        if (held != null && held.enter(self)) {
            return true;
        }
        if (isMine() || attempt(Entry.ALONE) != Outcome.ENTERED) {
            return false;
        }
        owner = self;
        return true;
    }

    private boolean enterUnbiased() {
        if (closing || !STATE.compareAndSet(this, FREE, EXCLUSIVE)) {
            refuseReentry();
            if (!await(Entry.ALONE)) {
                return false;
            }
        }
        owner = Thread.currentThread().threadId();
        return true;
    }

    /** Leaves after {@link #enter}. */
    public void exit() {
        Bias held = bias; // nobody removes a bias while its thread is inside
        if (held != null) {
            held.exit();
        } else {
            exitUnbiased();
        }
        wakeNext();
    }

    /**
     * Leaves as {@link #exit} does. If the {@link #tryEnter} of another thread failed because the caller was inside,
     * the caller then reads what that thread had written before.
     */
    public void exitAndSee() {
        Bias held = bias;
        exit();
        VarHandle.releaseFence(); // holds the compiler, as in Bias.enter
        // The thread that takes a bias away runs a fence on this processor, too: after the exit, which it then sees,
        // or before, and then this reads that the bias is revoked.
        if (held == null || held.isRevoked()) {
            VarHandle.fullFence();
        }
    }

    private void exitUnbiased() {
        long self = owner;
        streak = self == last ? streak + 1 : 0;
        last = self;
        Bias next = streak >= neededStreak && ProcessFence.isAvailable() ? newBias(self) : null;
        owner = 0;
        if (next != null) {
            streak = 0;
            neededStreak = Math.min(neededStreak * STREAK_GROWTH, LONGEST_STREAK);
            STATE.setVolatile(this, BIASED);
            bias = next; // last, since from now on another thread can remove it and set the state
            if (closing) {
                next.revoke();
            }
        } else {
            STATE.setRelease(this, FREE);
        }
    }

    private static @Nullable Bias newBias(long thread) {
        try {
            return new Bias(thread);
        } catch (VirtualMachineError e) { // no heap or stack is left: the thread goes on without a bias
            return null;
        }
    }

    /**
     * Enters beside other shared entries. Returns false if the guard is closed; then the caller must not use the object
     * and must not call {@link #exitShared}.
     */
    public boolean enterShared() {
        Outcome first = attempt(Entry.SHARED);
        if (first == Outcome.BUSY) {
            refuseReentry();
            return await(Entry.SHARED);
        }
        return first == Outcome.ENTERED;
    }

    /** Leaves after {@link #enterShared}. */
    public void exitShared() {
        if ((int) STATE.getAndAdd(this, -1) == 1) {
            wakeNext();
        }
    }

    /** Admits no further threads. Threads that are inside stay. */
    public void beginClose() {
        refuseReentry();
        closing = true;
        Bias held = bias;
        if (held != null) {
            held.revoke();
        }
        Queue<Thread> threads = parked;
        if (threads != null) {
            threads.forEach(LockSupport::unpark);
        }
    }

    /** Waits, after {@link #beginClose}, until all threads have left. */
    public void awaitDrained() {
        await(Entry.LAST);
    }

    /** Returns whether {@link #beginClose} was called. */
    public boolean isClosing() {
        return closing;
    }

    /** Returns whether a thread has the bias. */
    boolean isBiased() {
        return bias != null;
    }

    /** Returns whether the calling thread is alone inside, after {@link #enter}. */
    public boolean isMine() {
        long self = Thread.currentThread().threadId();
        Bias held = bias;
        return owner == self || held != null && held.isInside(self);
    }

    private void refuseReentry() {
        if (isMine()) {
            throw new IllegalStateException(
                    "called inside a post to the same queue, which would wait for itself; finish the post first");
        }
    }

    /** Takes the bias away, unless its thread is inside. */
    private void removeBias() {
        Bias held = bias;
        if (held != null && held.isRemovable() && BIAS.compareAndSet(this, held, null)) {
            STATE.setVolatile(this, FREE);
        }
    }

    private Outcome attempt(Entry entry) {
        if (state == BIASED) {
            removeBias();
        }
        if (entry == Entry.LAST) {
            boolean isLast = STATE.compareAndSet(this, FREE, CLOSED) || (int) STATE.getVolatile(this) == CLOSED;
            return isLast ? Outcome.ENTERED : Outcome.BUSY;
        }
        if (closing) {
            return Outcome.CLOSED;
        }
        if (entry == Entry.ALONE) {
            return STATE.compareAndSet(this, FREE, EXCLUSIVE) ? Outcome.ENTERED : Outcome.BUSY;
        }
        for (int now = (int) STATE.getVolatile(this); now >= FREE; now = (int) STATE.getVolatile(this)) {
            if (STATE.compareAndSet(this, now, now + 1)) {
                return Outcome.ENTERED;
            }
        }
        return Outcome.BUSY;
    }

    @SuppressWarnings("ThreadPriorityCheck") // the thread inside leaves soon: yielding is cheaper than parking
    private boolean await(Entry entry) {
        for (int round = 0; round < 200; round++) {
            Outcome outcome = attempt(entry);
            if (outcome != Outcome.BUSY) {
                return outcome == Outcome.ENTERED;
            }
            if (round < 100) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
        return awaitParked(entry);
    }

    private boolean awaitParked(Entry entry) {
        Queue<Thread> threads = parkedThreads();
        Thread self = Thread.currentThread();
        boolean interrupted = false;
        boolean isAlone = false;
        threads.add(self);
        try {
            for (long nanos = SHORTEST_PARK_NANOS; ; nanos = Math.min(2 * nanos, LONGEST_PARK_NANOS)) {
                Outcome outcome = attempt(entry);
                if (outcome != Outcome.BUSY) {
                    isAlone = outcome == Outcome.ENTERED && entry == Entry.ALONE;
                    return outcome == Outcome.ENTERED;
                }
                LockSupport.parkNanos(this, nanos);
                interrupted |= Thread.interrupted(); // an interrupted thread does not park
            }
        } finally {
            threads.remove(self);
            if (interrupted) {
                self.interrupt();
            }
            if (!isAlone) {
                wakeNext(); // the next thread can enter as well; a thread that is alone wakes it when it leaves
            }
        }
    }

    private Queue<Thread> parkedThreads() {
        Queue<Thread> threads = parked;
        if (threads == null) {
            Queue<Thread> created = new ConcurrentLinkedQueue<>();
            threads = PARKED.compareAndSet(this, null, created) ? created : Objects.requireNonNull(parked);
        }
        return threads;
    }

    /** Wakes the thread that has waited longest. That thread removes itself from the queue when it has entered. */
    private void wakeNext() {
        Queue<Thread> threads = parked;
        if (threads != null) {
            LockSupport.unpark(threads.peek());
        }
    }
}
