package org.kverbs.cm;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The events of one id, on a channel that only this object takes events from. One thread at a time is in a step or in a
 * wait.
 */
final class StepEvents {

    /** The rest of a step, with the turn taken. */
    interface Step<T extends @Nullable Object> {
        T take(Wait wait) throws InterruptedException;
    }

    private final ConnectionId id;
    private final ConnectionEventChannel channel;
    private final ReentrantLock turn = new ReentrantLock();
    private volatile boolean ended;

    StepEvents(ConnectionId id) {
        this.id = id;
        this.channel = id.channel();
    }

    /** Waits for events with the turn taken, until a deadline. */
    final class Wait {
        private final ConnectionStep step;
        private final Duration timeout;
        private final long deadline;

        private Wait(ConnectionStep step, Duration timeout) {
            this.step = step;
            this.timeout = timeout;
            this.deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
        }

        private Duration left() {
            return Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
        }

        private ConnectionTimeoutException over() {
            return new ConnectionTimeoutException(step, id.addresses().named(step), timeout);
        }

        /**
         * Waits for an event of one of these types.
         *
         * @throws ConnectionException if the step failed, the peer disconnected, or the time ran out
         */
        ConnectionEvent until(ConnectionEventType... wanted) throws InterruptedException {
            List<ConnectionEventType> types = Arrays.asList(wanted);
            while (true) {
                ConnectionEvent event = next(left());
                if (event == null) {
                    throw over();
                }
                if (event.id() != id && event.listener() != id) {
                    continue; // of a request that was taken before
                }
                event.orThrow();
                if (types.contains(event.type())) {
                    return event;
                }
                if (event.type() == ConnectionEventType.DISCONNECTED) {
                    throw new ConnectionException(step, id.addresses().named(step), 0,
                            "the peer disconnected before the connection was up");
                }
            }
        }
    }

    /** Begins a step by a call, and waits for its event. */
    ConnectionEvent step(ConnectionStep step, Duration timeout, ConnectionEventType wanted, Runnable call)
            throws InterruptedException {
        return inTurn(step, timeout, wait -> {
            call.run();
            return wait.until(wanted);
        });
    }

    /**
     * Takes the turn, and runs a step.
     *
     * @throws ConnectionTimeoutException if another thread keeps the turn for the whole timeout
     */
    <T extends @Nullable Object> T inTurn(ConnectionStep step, Duration timeout, Step<T> rest)
            throws InterruptedException {
        Wait wait = new Wait(step, timeout);
        if (!turn.tryLock(TimeUnit.NANOSECONDS.convert(timeout), TimeUnit.NANOSECONDS)) {
            throw wait.over();
        }
        try {
            return rest.take(wait);
        } finally {
            turn.unlock();
        }
    }

    private @Nullable ConnectionEvent next(Duration timeout) throws InterruptedException {
        try {
            ConnectionEvent event = channel.awaitEvent(timeout);
            if (event != null && event.id() == id && isEnd(event.type())) {
                ended = true;
            }
            return event;
        } catch (IllegalStateException e) {
            throw named(e);
        }
    }

    /** Returns the exception for a closed id in place of one for its channel, which the program does not know. */
    RuntimeException named(RuntimeException failure) {
        boolean isClosed = failure instanceof IllegalStateException && id.channel() == channel && !channel.isOpen();
        return isClosed ? id.lifetime.closed() : failure;
    }

    private static boolean isEnd(ConnectionEventType type) {
        return type == ConnectionEventType.DISCONNECTED || type == ConnectionEventType.DEVICE_REMOVAL;
    }

    /** Returns whether the connection is known to have ended. */
    boolean hasEnded() {
        return ended;
    }

    /** Takes the events that wait, unless another thread does, and returns whether the connection has ended. */
    boolean lookForEnd() throws InterruptedException {
        return ended || awaitEnd(Duration.ZERO);
    }

    /**
     * Waits for the end of the connection; returns false if the time ran out.
     *
     * @throws IllegalStateException if the id listens: it has no connection, and the wait would take its requests
     */
    boolean awaitEnd(Duration timeout) throws InterruptedException {
        if (id.isListening()) {
            throw new IllegalStateException(id.describe() + " listens, so it has no connection whose end can be"
                    + " awaited; take awaitRequest, and await the end on the id of a request");
        }
        long deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
        if (ended || !turn.tryLock(TimeUnit.NANOSECONDS.convert(timeout), TimeUnit.NANOSECONDS)) {
            return ended;
        }
        try {
            while (!ended && next(Duration.ofNanos(Math.max(0, deadline - System.nanoTime()))) != null) {
                // other events of an established connection do not end it
            }
            return ended;
        } finally {
            turn.unlock();
        }
    }

    /** Refuses an id that was given to another channel. */
    void require(ConnectionEventChannel own) {
        if (own != channel) {
            throw new IllegalStateException(id.describe() + " belongs to a channel of the program already");
        }
    }

    /** Closes the channel, and with it the id, unless the id went to another channel. */
    void close() {
        channel.close();
    }
}
