package org.kverbs.cm;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.kverbs.QueuePair;
import org.kverbs.RdmaException;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairState;

/** The end of an endpoint's connection: notices it, answers the peer, and has the outstanding requests flushed. */
final class EndpointEnd {

    /** Time for a device to flush requests. Soft-RoCE and soft-iWARP never flush some of those that come too late. */
    private static final long FLUSHING = TimeUnit.SECONDS.toNanos(1);

    private final SynchronousConnectionId connection;
    private final QueuePair queuePair;
    private final AtomicBoolean isNoticed = new AtomicBoolean();
    /** The time of the notice by System.nanoTime; 0 before it. */
    private volatile long noticed;

    EndpointEnd(SynchronousConnectionId connection, QueuePair queuePair) {
        this.connection = connection;
        this.queuePair = queuePair;
    }

    /** Returns whether the connection has ended; does not wait. */
    boolean hasCome() throws InterruptedException {
        return isNoticed.get() || answered(connection.events().lookForEnd());
    }

    /** Waits for the end of the connection; returns false if the time ran out. */
    boolean await(Duration timeout) throws InterruptedException {
        return isNoticed.get() || answered(connection.awaitEnd(timeout));
    }

    private boolean answered(boolean hasEnded) {
        if (hasEnded && isNoticed.compareAndSet(false, true)) {
            flush();
            quietly(connection.id()::disconnect); // the peer waits for this answer
        }
        return hasEnded;
    }

    /** Ends the connection; see {@link SynchronousConnectionId#disconnect}. */
    boolean begin(Duration timeout) throws InterruptedException {
        if (hasCome()) {
            return true;
        }
        connection.id().disconnect();
        boolean isConfirmed = connection.awaitEnd(timeout);
        if (isNoticed.compareAndSet(false, true)) {
            flush();
        }
        return isConfirmed;
    }

    /** Completes the outstanding requests as flushed. */
    private void flush() {
        noticed = System.nanoTime();
        quietly(() -> queuePair.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build()));
    }

    /** Ignores a refusal: the peer has gone, or another thread closes the endpoint. */
    private static void quietly(Runnable call) {
        try {
            call.run();
        } catch (RdmaException | IllegalStateException e) {
            // nothing is left to be done
        }
    }

    /** Returns whether the connection ended so long ago that no completion comes any more. */
    boolean isPast() {
        return noticed != 0 && System.nanoTime() - noticed > FLUSHING;
    }

    /** Makes the exception for a wait that the end of the connection ended. */
    ConnectionException exception(@Nullable Throwable cause) {
        ConnectionException ended = new ConnectionException(ConnectionStep.STAY_CONNECTED,
                connection.id().addresses().peer, 0, "the connection has ended: one of its two sides disconnected.");
        if (cause != null) {
            ended.initCause(cause);
        }
        return ended;
    }
}
