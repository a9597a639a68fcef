package org.kverbs.embedded.internal.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.memory.Memory;

/**
 * Holds the lock, the clock and the order of events for all devices that share this engine. A thread that calls a
 * device does the work of that call at once, with all its consequences, down to the peer's completion if the peer is in
 * reach. Work that must wait stands in a heap of events. {@link LongCopies} releases the lock within such a call.
 * {@link Sharers} lets short calls do without the lock, while no thread holds it.
 *
 * <p>On the real clock a daemon thread runs due events and sleeps between them. On the virtual clock time stands still
 * while there is work to do, and a thread that waits moves the clock to the next event, unless the clock is held. The
 * virtual clock has no thread of its own, so that a program with one thread sees the same order in every run.
 *
 * <p>An exception of an event or a task ends neither its thread nor any other work. The engine calls {@link
 * Event#failed} or {@link Task#failed}, then the handler of {@link #onFailure}. This holds for errors of the VM, too: a
 * program that shrinks a mapped file causes an InternalError.
 *
 * <p>Callers hold the lock for all methods except {@link #enter}, {@link #tryEnter}, {@link #leave} and {@link #close}.
 */
public final class Engine implements AutoCloseable {

    /** The limit of virtual events in a row that bring nothing to the program: a few seconds of processor time. */
    private static final int ENDLESS = 5_000_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Sharers sharers = new Sharers(lock);
    private final Entrance entrance = new Entrance(lock, sharers);
    private final EventHeap events = new EventHeap();
    private final EventThread timer = new EventThread(this, lock, events);
    private final boolean virtual;
    private long virtualNanos;
    private boolean held;
    /** Events since the program last got something that it waits for. */
    private int fruitless;

    private final TaskQueue readyTasks = new TaskQueue();
    private final TaskQueue lastTasks = new TaskQueue();
    private final LongWork longWork = new LongWork(this);
    private final LongCopies copies;
    private final FailureReports failures;
    /** True if this lock holder may have touched memory of a mapped file. */
    private boolean touchesFiles;
    /** What must stay reachable until this lock holder is done. */
    private final List<Object> kept = new ArrayList<>();
    /** The last thread that entered, and whether two threads have entered; kept on the virtual clock only. */
    private @Nullable Thread user;
    private boolean isShared;

    public Engine(boolean virtual) {
        this.virtual = virtual;
        this.failures = new FailureReports(virtual);
        this.copies = new LongCopies(this, lock, entrance);
    }

    public boolean isVirtual() {
        return virtual;
    }

    /**
     * Sets the handler for exceptions of events, tasks and packets; the default handler logs them. Called with the lock
     * held.
     */
    public void onFailure(Consumer<? super Throwable> next) {
        failures.tell(next);
    }

    /**
     * Tells the handler about a failure of one event, task or packet. On the real clock this throws nothing: an
     * exception of the handler is logged, since the thread may be the device's own, or a poll of another connection. On
     * the virtual clock only calls of the program get here, and the handler's exception is thrown to them.
     */
    public void report(Throwable failure) {
        failures.report(failure);
    }

    /** Takes the lock. */
    public void enter() {
        entrance.enter();
        if (virtual && !isShared) {
            noteUser();
        }
    }

    private void noteUser() {
        Thread current = Thread.currentThread();
        isShared = user != null && user != current;
        user = current;
    }

    /** Tells whether more than one thread has entered; on the virtual clock only. */
    public boolean isShared() {
        return isShared;
    }

    /** Takes the lock if it becomes free within a time. */
    public boolean tryEnter(long nanos) throws InterruptedException {
        return entrance.enter(nanos);
    }

    /** Runs the tasks that are ready and releases the lock. */
    public void leave() {
        try {
            settle();
            copies.makeAll();
        } finally {
            if (lock.getHoldCount() == 1) {
                pause();
            }
            lock.unlock();
        }
    }

    /** Returns the way into the engine for threads that do not need the lock. */
    public Sharers sharers() {
        return sharers;
    }

    /** Returns the copies that are made without the lock. */
    public LongCopies copies() {
        return copies;
    }

    /** Forgets what belongs to this lock holder, which releases the lock now. */
    void pause() {
        touchesFiles = false;
        letGo();
    }

    /**
     * Keeps an object reachable until this call or event is done: the collector frees memory of an automatic arena that
     * nothing refers to, even while the device copies by its address.
     */
    public void keep(Object owner) {
        for (Object each : kept) {
            if (each == owner) {
                return;
            }
        }
        kept.add(owner);
    }

    private void letGo() {
        if (!kept.isEmpty()) {
            kept.clear();
        }
    }

    /** Notes that the caller is about to touch memory of a mapped file, which can shrink at any time. */
    public void touchesFile() {
        touchesFiles = true;
    }

    /**
     * Follows each touch of the program's memory. If a mapped file has shrunk, compiled code does not throw the
     * InternalError at the touch, but where the thread next reaches a safepoint or returns from native code. By then
     * the device could have acknowledged bytes that it never wrote. So this method throws a pending error here, if the
     * memory may be that of a file.
     */
    public void touched() {
        if (touchesFiles) {
            Memory.throwPending();
        }
    }

    /** Makes a condition of the lock. */
    public Condition condition() {
        return lock.newCondition();
    }

    /** Returns nanoseconds since an arbitrary moment; never goes back. */
    public long now() {
        return virtual ? virtualNanos : System.nanoTime();
    }

    /** Schedules an event after a delay; an event that is scheduled already moves to the new time. */
    public void schedule(Event event, long delayNanos) {
        events.schedule(event, now() + Math.max(0, delayNanos));
        if (!virtual) {
            timer.scheduled(event);
        }
    }

    /** Removes an event from the schedule. */
    public void cancel(Event event) {
        events.cancel(event);
    }

    /** Returns the number of scheduled events. */
    public int scheduled() {
        return events.size();
    }

    /** Queues a task to run when the current call has done its part. */
    public void ready(Task task) {
        if (task.queued) {
            return;
        }
        task.queued = true;
        readyTasks.add(task);
    }

    /** Queues a task to run when no other task is ready, at the end of the current call at the latest. */
    public void readyLast(Task task) {
        if (!task.queued) {
            task.queued = true;
            lastTasks.add(task);
        }
    }

    private @Nullable Task nextTask() {
        Task task = readyTasks.poll();
        return task == null ? lastTasks.poll() : task;
    }

    void settle() {
        for (Task task = nextTask(); task != null; task = nextTask()) {
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

    /** Runs a task with its immediate consequences. */
    void carryOut(Task task) {
        run(task);
        settle();
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

    /** Removes an event from the schedule, and runs it with its immediate consequences. */
    void carryOut(Event event) {
        events.cancel(event);
        letGo();
        happen(event);
        settle();
    }

    /** Tells whether an event is the one that runs a task of {@link #later}. */
    boolean isTurn(Event event) {
        return longWork.isTurn(event);
    }

    /**
     * Queues the rest of long work, so that other threads get the lock before it goes on. A thread that polls in vain
     * does one such task; otherwise the timer's thread does. On the virtual clock the task runs in the same call, after
     * all ready tasks.
     */
    public void later(Task task) {
        if (virtual) {
            ready(task);
            return;
        }
        longWork.add(task);
    }

    /** Tells whether a thread that polls in vain has a task to do; callable without the lock. */
    public boolean isWorkLeft() {
        return longWork.isLeft();
    }

    /** Handles a poll that found nothing: moves the virtual clock, or does one task of {@link #later}. */
    public void polledInVain() {
        if (!virtual) {
            longWork.goOn(LongWork.LEFT_NANOS);
        } else if (!held) {
            step();
        }
    }

    /** Stops waiting threads from moving the virtual clock, from now on. */
    public void hold() {
        held = true;
    }

    /**
     * Notes that the program got something that it waits for: a completion, an event, or the end of a time that it set.
     */
    public void advanced() {
        fruitless = 0;
    }

    /**
     * Moves the virtual clock to the next event for a waiting program, and runs the event with its consequences.
     *
     * @return whether there was an event
     * @throws IllegalStateException if events follow each other for ever while the program waits
     */
    public boolean step() {
        if (!next()) {
            return false;
        }
        if (++fruitless > ENDLESS) {
            fruitless = 0;
            throw new IllegalStateException(ENDLESS + " timers and packets in a row, up to "
                    + Duration.ofNanos(virtualNanos) + " on the virtual clock, brought no completion and no event:"
                    + " a queue pair retries for ever. With rnr_retry 7 a sender retries while its peer posts no"
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
        carryOut(event);
        return true;
    }

    /** Moves the virtual clock by a time, and runs all events that are due until then. */
    public void advance(long nanos) {
        long end = virtualNanos + nanos;
        for (Event event = events.first(); event != null && event.time <= end; event = events.first()) {
            next();
        }
        virtualNanos = end;
    }

    /**
     * Waits for a signal. On a virtual clock that is not held, runs the next event instead, which may bring the signal.
     *
     * @param deadline when to give up, by {@link #now}; {@link Long#MAX_VALUE} for never
     * @return false if the deadline has passed
     * @throws InterruptedException if the thread is interrupted
     */
    // Callers loop until what they wait for is there; the yield only offers the lock, nothing relies on it.
    @SuppressWarnings({"WaitNotInLoop", "ThreadPriorityCheck"})
    public boolean await(Condition condition, long deadline) throws InterruptedException {
        settle();
        if (copies.makeAll()) {
            return true; // the signal may have come while the lock was free
        }
        Event event = virtual && !held ? events.first() : null;
        if (event != null && event.time <= deadline) {
            step();
            // Timers may follow each other for ever: other threads must get the lock between them.
            lock.unlock();
            Thread.yield();
            lock.lock();
            sharers.await();
            return true;
        }
        try {
            return sleep(condition, deadline);
        } finally {
            sharers.await(); // the condition took the lock again
        }
    }

    @SuppressWarnings("WaitNotInLoop") // as for await
    private boolean sleep(Condition condition, long deadline) throws InterruptedException {
        if (deadline == Long.MAX_VALUE) {
            condition.await();
            return true;
        }
        long left = deadline - now();
        if (left <= 0) {
            return false;
        }
        // A virtual clock that is held, or that has no events, waits for other threads until the deadline, in real
        // time.
        if (condition.awaitNanos(left) <= 0 && virtual) {
            if (held) {
                return false;
            }
            virtualNanos = Math.max(virtualNanos, deadline);
        }
        return true;
    }

    /** Ends the timer's thread. Scheduled events no longer happen. */
    @Override
    public void close() {
        entrance.enter();
        try {
            timer.close();
        } finally {
            lock.unlock();
        }
    }
}
