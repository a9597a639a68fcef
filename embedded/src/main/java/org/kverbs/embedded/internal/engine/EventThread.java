package org.kverbs.embedded.internal.engine;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs due events on the real clock, in a daemon thread that starts when an event is first scheduled. Called with the
 * engine's lock held.
 */
final class EventThread {

    /** The number of events that run before waiting threads get the lock. */
    private static final int TURN = 32;

    private static final long PAUSE_NANOS = 100_000;

    private final Engine engine;
    private final ReentrantLock lock;
    private final EventHeap events;
    private final Condition due;
    private @Nullable Thread thread;
    /** When the thread wakes by itself, by {@link System#nanoTime}. */
    private long wakes = Long.MAX_VALUE;

    private boolean closed;

    EventThread(Engine engine, ReentrantLock lock, EventHeap events) {
        this.engine = engine;
        this.lock = lock;
        this.events = events;
        this.due = lock.newCondition();
    }

    /** Notes that an event was scheduled. */
    void scheduled(Event event) {
        if (event.time >= wakes || closed) {
            return;
        }
        if (thread == null) {
            thread = Thread.ofPlatform().daemon().name("kverbs-embedded-timer").start(this::run);
        } else {
            due.signal();
        }
    }

    /** Ends the thread. */
    void close() {
        closed = true;
        due.signalAll();
    }

    private void run() {
        engine.enter();
        try {
            while (!closed) {
                try {
                    runDue();
                } catch (Throwable e) {
                    // The thread itself has no memory left, or a similar error occurred: the thread must not end.
                }
            }
        } finally {
            engine.leave();
        }
    }

    /** Runs up to {@link #TURN} due events, or sleeps until the next one is due. */
    private void runDue() {
        for (int i = 0; i < TURN; i++) {
            Event event = events.first();
            long left = event == null ? Long.MAX_VALUE : event.time - System.nanoTime();
            if (event == null) {
                wakes = Long.MAX_VALUE;
                due.awaitUninterruptibly();
                engine.sharers().await();
                return;
            } else if (left > 0) {
                wakes = event.time;
                sleep(left);
                return;
            }
            engine.carryOut(event);
            engine.copies().makeAll();
            // The lock was free during a copy, so that the engine can have been closed.
            if (closed || engine.isTurn(event)) {
                break;
            }
        }
        giveWay();
    }

    /**
     * Gives the lock to waiting threads. While events are due this thread would otherwise keep the lock, which is not
     * fair: it goes to a running thread rather than to the one that waits longest.
     */
    private void giveWay() {
        if (lock.hasQueuedThreads()) {
            wakes = Long.MIN_VALUE; // the thread looks again soon, whatever is scheduled in the meantime
            sleep(PAUSE_NANOS);
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the timer looks at the clock whenever it wakes, and sleeps again
    private void sleep(long nanos) {
        try {
            due.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            // No code interrupts this thread on purpose. An interrupt only makes it look at the clock earlier.
        } finally {
            engine.sharers().await();
        }
    }
}
