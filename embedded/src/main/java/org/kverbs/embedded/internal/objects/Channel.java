package org.kverbs.embedded.internal.objects;

import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import org.kverbs.embedded.internal.engine.Engine;

/**
 * Queues events for a thread that takes them: events of a completion channel, asynchronous events of a context, or
 * events of connections.
 */
public final class Channel<E> {

    private final Engine engine;
    private final Condition arrived;
    private final ArrayDeque<E> events = new ArrayDeque<>();
    private boolean woken;
    private boolean interrupted;

    public Channel(Engine engine) {
        this.engine = engine;
        this.arrived = engine.condition();
    }

    /** Adds an event; called with the lock held. */
    public void add(E event) {
        events.add(event);
        engine.advanced();
        arrived.signal();
    }

    /**
     * Removes all events that belong to an object that is being destroyed; called with the lock held. Returns the
     * number of removed events.
     */
    public int removeIf(java.util.function.Predicate<E> belongs) {
        int before = events.size();
        events.removeIf(belongs);
        return before - events.size();
    }

    /** Ends the current wait, or else the next one. */
    public void interrupt() {
        engine.enter();
        try {
            interrupted = true;
            arrived.signal();
        } finally {
            engine.leave();
        }
    }

    /** Ends all present and future waits. */
    public void wake() {
        engine.enter();
        try {
            woken = true;
            arrived.signalAll();
        } finally {
            engine.leave();
        }
    }

    /**
     * Takes the next event and hands it on with the lock held.
     *
     * @param timeoutNanos 0 looks once; below zero waits without limit
     * @return the result of {@code take}; 0 if the time ran out, or the wait was interrupted or woken; -EINTR if the
     *     thread was interrupted
     */
    public long await(long timeoutNanos, java.util.function.ToLongFunction<E> take) {
        engine.enter();
        try {
            long now = engine.now();
            long deadline = timeoutNanos < 0 || now > Long.MAX_VALUE - timeoutNanos
                    ? Long.MAX_VALUE : now + timeoutNanos;
            while (!woken) {
                E event = events.poll();
                if (event != null) {
                    return take.applyAsLong(event);
                }
                if (interrupted) {
                    interrupted = false;
                    return 0;
                }
                if (timeoutNanos == 0 || !engine.await(arrived, deadline)) {
                    E last = events.poll();
                    return last == null ? 0 : take.applyAsLong(last);
                }
            }
            return 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return -org.kverbs.internal.abi.Errno.EINTR;
        } finally {
            engine.leave();
        }
    }
}
