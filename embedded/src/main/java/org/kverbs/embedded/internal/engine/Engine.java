package org.kverbs.embedded.internal.engine;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One lock, one clock and one order of events for all devices that share it. The thread that calls a device does the
 * work of that call at once, and what it leads to, down to the peer's completion if the peer is in reach; what must
 * wait stands in a heap of events.
 *
 * <p>By the real clock a daemon thread runs what is due; it sleeps while nothing is. By the virtual clock time stands
 * still while anything is to be done, and a thread that waits moves it on to the next event, unless it is held: then no
 * thread of its own runs, and a program with one thread sees the same order every time.
 *
 * <p>What an event or a task throws ends neither the thread that runs it nor anything else: its owner is told by {@link
 * Event#failed} or {@link Task#failed}, then the handler that {@link #onFailure} sets. That holds for errors of the VM,
 * too: memory that a program mapped and a file of which it cut is an InternalError.
 *
 * <p>All methods but {@link #enter}, {@link #tryEnter}, {@link #leave} and {@link #close} need the lock.
 */
public final class Engine implements AutoCloseable {

    /** Events that the timer lets happen before it lets those who wait for the lock have it. */
    private static final int TURN = 32;

    private static final long PAUSE_NANOS = 100_000;

    /**
     * How long the rest of long work is left to a thread that polls, which then need not wait for the timer's thread.
     */
    private static final long LEFT_NANOS = 100_000;

    /** Virtual events in a row that may lead to nothing that a program waits for: a few seconds of a processor. */
    private static final int ENDLESS = 5_000_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition due = lock.newCondition();
    private final EventHeap events = new EventHeap();
    private final boolean virtual;
    private long virtualNanos;
    private boolean held;
    /** Events since something came that a program waits for. */
    private int fruitless;

    private @Nullable Task firstTask;
    private @Nullable Task lastTask;
    private @Nullable Task firstLater;
    private @Nullable Task lastLater;
    /** Whether {@link #later} tasks wait. Written with the lock. */
    private volatile boolean workLeft;
    /** How long what is left now waits for a thread that polls, in nanoseconds. */
    private long patience = LEFT_NANOS;

    private final Event turn = new Event() {
        @Override
        protected void happen() {
            goOn(0);
        }
    };

    private @Nullable Thread timer;
    private long timerWakes = Long.MAX_VALUE;
    private boolean closed;
    private final FailureLog log = new FailureLog(Level.ERROR);
    private Consumer<? super Throwable> handler =
            failure -> log.add("the embedded device goes on after a failure", failure);
    /** Whether memory of a mapped file may have been touched since the lock was taken. */
    private boolean touchesFiles;
    /** The thread that entered first, and whether another did since; noted on the virtual clock only. */
    private @Nullable Thread user;

    private boolean isShared;

    public Engine(boolean virtual) {
        this.virtual = virtual;
    }

    public boolean isVirtual() {
        return virtual;
    }

    /** Sets the handler of what events, tasks and packets throw; the first one logs. Called with the lock held. */
    public void onFailure(Consumer<? super Throwable> next) {
        handler = Objects.requireNonNull(next);
    }

    /**
     * Tells the handler of a failure that ended nothing but what it happened to. By the real clock it throws nothing:
     * what the handler throws is logged, since the thread may be the device's own, or a poll of another connection. By
     * the virtual clock only calls of the program get here, and have what the handler throws thrown at them.
     */
    public void report(Throwable failure) {
        try {
            handler.accept(failure);
        } catch (Throwable e) {
            if (virtual) {
                throw e;
            }
            log.add("the handler of the embedded device's failures failed", e);
        }
    }

    /** Takes the lock. */
    public void enter() {
        lock.lock();
        if (virtual && !isShared) {
            noteUser();
        }
    }

    private void noteUser() {
        Thread current = Thread.currentThread();
        isShared = user != null && user != current;
        user = current;
    }

    /** Whether another thread than the first that entered has entered; on the virtual clock. */
    public boolean isShared() {
        return isShared;
    }

    /** Takes the lock, if it can be had within a time. */
    public boolean tryEnter(long nanos) throws InterruptedException {
        return lock.tryLock(nanos, TimeUnit.NANOSECONDS);
    }

    /** Does what became ready and gives the lock back. */
    public void leave() {
        try {
            settle();
        } finally {
            if (touchesFiles && lock.getHoldCount() == 1) {
                touchesFiles = false;
            }
            lock.unlock();
        }
    }

    /** Memory of a mapped file, which can be cut at any time, is about to be touched. */
    public void touchesFile() {
        touchesFiles = true;
    }

    /**
     * Follows each touch of a program's memory. Compiled code throws the InternalError of a file that was cut not where
     * it touches it, but where the thread next stops at a safepoint or comes back from native code: by then what was
     * never written might be acknowledged. If the memory may be a file's, the error is thrown here.
     */
    public void touched() {
        if (touchesFiles) {
            throwPending();
        }
    }

    /** Throws the InternalError that this thread's compiled code owes, if it owes one. */
    public static void throwPending() {
        Runtime.getRuntime().maxMemory(); // any native method that the JIT has no code of its own for
    }

    /** A condition that goes with the lock. */
    public Condition condition() {
        return lock.newCondition();
    }

    /** Nanoseconds since some moment; never goes back. */
    public long now() {
        return virtual ? virtualNanos : System.nanoTime();
    }

    /** Lets an event happen after a time, and moves it there if it was to happen at another. */
    public void schedule(Event event, long delayNanos) {
        events.schedule(event, now() + Math.max(0, delayNanos));
        if (!virtual && event.time < timerWakes) {
            wakeTimer();
        }
    }

    /** Lets an event not happen. */
    public void cancel(Event event) {
        events.cancel(event);
    }

    /** How many events are to happen. */
    public int scheduled() {
        return events.size();
    }

    /** Queues a task for when the current call has done its part. */
    public void ready(Task task) {
        if (task.queued) {
            return;
        }
        task.queued = true;
        if (lastTask == null) {
            firstTask = task;
        } else {
            lastTask.next = task;
        }
        lastTask = task;
    }

    private void settle() {
        for (Task task = firstTask; task != null; task = firstTask) {
            firstTask = task.next;
            if (firstTask == null) {
                lastTask = null;
            }
            task.next = null;
            task.queued = false;
            run(task);
        }
    }

    private void run(Task task) {
        try {
            task.run();
        } catch (Throwable e) {
            try {
                task.failed();
            } catch (Throwable again) {
                e.addSuppressed(again);
            }
            report(e);
        }
    }

    private void happen(Event event) {
        try {
            event.happen();
        } catch (Throwable e) {
            try {
                event.failed();
            } catch (Throwable again) {
                e.addSuppressed(again);
            }
            report(e);
        }
    }

    /**
     * Queues the rest of long work, so that other threads get the lock before it goes on. A thread that polls in vain
     * does one such task, or else the timer's thread. By the virtual clock it is done in the same call, after all that
     * is ready.
     */
    public void later(Task task) {
        if (virtual) {
            ready(task);
            return;
        }
        if (lastLater == null) {
            firstLater = task;
        } else {
            lastLater.next = task;
        }
        lastLater = task;
        workLeft = true;
        if (!turn.isScheduled()) {
            schedule(turn, patience);
        }
    }

    /** Whether a thread that polls in vain has something to do; without the lock, too. */
    public boolean isWorkLeft() {
        return workLeft;
    }

    /** Does one task of those that {@link #later} queued, and lets the timer's thread do the next after a time. */
    private void goOn(long delayNanos) {
        Task task = firstLater;
        if (task == null) {
            return;
        }
        firstLater = task.next;
        task.next = null;
        if (firstLater == null) {
            lastLater = null;
            workLeft = false;
            cancel(turn);
        } else {
            schedule(turn, delayNanos);
        }
        patience = delayNanos;
        try {
            run(task);
            settle();
        } finally {
            patience = LEFT_NANOS;
        }
    }

    /** Somebody polls in vain. Virtual time then goes on, or the thread does a part of the work that is left. */
    public void polledInVain() {
        if (!virtual) {
            goOn(LEFT_NANOS);
        } else if (!held) {
            step();
        }
    }

    /** From now on virtual time stands still for those who wait. */
    public void hold() {
        held = true;
    }

    /** Something came that a program waits for: a completion, an event, a time that it has set. */
    public void advanced() {
        fruitless = 0;
    }

    /**
     * Moves virtual time to the next event for a program that waits, and lets it happen, and what it leads to.
     *
     * @return whether there was one
     * @throws IllegalStateException if the program would wait for ever, while timers follow each other
     */
    public boolean step() {
        if (!next()) {
            return false;
        }
        if (++fruitless > ENDLESS) {
            fruitless = 0;
            throw new IllegalStateException(ENDLESS + " timers and packets in a row, up to "
                    + Duration.ofNanos(virtualNanos) + " on the virtual clock, brought no completion and no event:"
                    + " a queue pair tries again for ever. With rnr_retry 7 a sender does while its peer posts no"
                    + " receive: post one, or connect with a smaller rnr_retry.");
        }
        return true;
    }

    private boolean next() {
        settle();
        Event event = virtual ? events.first() : null;
        if (event == null) {
            return false;
        }
        virtualNanos = Math.max(virtualNanos, event.time);
        events.cancel(event);
        happen(event);
        settle();
        return true;
    }

    /** Moves virtual time on, and lets everything happen that is due until then. */
    public void advance(long nanos) {
        long end = virtualNanos + nanos;
        for (Event event = events.first(); event != null && event.time <= end; event = events.first()) {
            next();
        }
        virtualNanos = end;
    }

    /**
     * Waits for a signal, or in virtual time that isn't held lets the next event happen, which may be what is waited
     * for.
     *
     * @param deadline when to give up, by {@link #now}; {@link Long#MAX_VALUE} for never
     * @return false when it is time to give up
     * @throws InterruptedException if the thread is interrupted
     */
    public boolean await(Condition condition, long deadline) throws InterruptedException {
        settle();
        Event event = virtual && !held ? events.first() : null;
        if (event != null && event.time <= deadline) {
            step();
            // Timers may follow each other for ever: others must get the lock between them.
            lock.unlock();
            Thread.yield();
            lock.lock();
            return true;
        }
        if (deadline == Long.MAX_VALUE) {
            condition.await();
            return true;
        }
        long left = deadline - now();
        if (left <= 0) {
            return false;
        }
        // A virtual clock that is held, or on which nothing is to happen, waits for other threads as long as it says,
        // by the real one.
        if (condition.awaitNanos(left) <= 0 && virtual) {
            if (held) {
                return false;
            }
            virtualNanos = Math.max(virtualNanos, deadline);
        }
        return true;
    }

    private void wakeTimer() {
        if (closed) {
            return;
        }
        if (timer == null) {
            timer = Thread.ofPlatform().daemon().name("kverbs-embedded-timer").start(this::runTimer);
        } else {
            due.signal();
        }
    }

    private void runTimer() {
        enter();
        try {
            while (!closed) {
                try {
                    runDue();
                } catch (Throwable e) {
                    // This thread itself has no memory left, or the like: it must not end of that.
                }
            }
        } finally {
            leave();
        }
    }

    /** Lets a turn of events happen, or sleeps until the next is due. */
    private void runDue() {
        for (int i = 0; i < TURN; i++) {
            Event event = events.first();
            long left = event == null ? Long.MAX_VALUE : event.time - System.nanoTime();
            if (event == null) {
                timerWakes = Long.MAX_VALUE;
                due.awaitUninterruptibly();
                return;
            } else if (left > 0) {
                timerWakes = event.time;
                sleep(left);
                return;
            }
            events.cancel(event);
            happen(event);
            settle();
            if (event == turn) {
                break;
            }
        }
        giveWay();
    }

    /**
     * As long as events are due the timer would keep the lock, which goes to who runs, not to who has waited longest.
     */
    private void giveWay() {
        if (lock.hasQueuedThreads()) {
            timerWakes = Long.MIN_VALUE; // it looks again soon, whatever is scheduled meanwhile
            sleep(PAUSE_NANOS);
        }
    }

    private void sleep(long nanos) {
        try {
            due.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            // Nobody has this thread's name for an interrupt to mean something: it only looks at the clock sooner.
        }
    }

    /** Ends the timer's thread. Nothing happens by itself any more. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            due.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
