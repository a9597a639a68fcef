package org.kverbs.cm;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.kverbs.CompletionChannel;
import org.kverbs.CompletionHandler;
import org.kverbs.CompletionQueue;
import org.kverbs.RdmaTimeoutException;
import org.kverbs.WorkCompletion;
import org.kverbs.WorkCompletionException;
import org.kverbs.WorkCompletionStatus;

/** Waits for the completions of one queue of an endpoint, and for the end of its connection. */
final class EndpointCompletions {

    private static final int SPINS = 1000;
    /** A thread in a wait looks for the end of the connection so often. */
    private static final long SLICE = TimeUnit.MILLISECONDS.toNanos(50);
    /** A flushed request can be seen before the event that explains it. */
    private static final Duration EXPLANATION = Duration.ofMillis(200);

    /** A copy of the completion that was polled. */
    private static final class Taken implements CompletionHandler {
        @Nullable WorkCompletion completion;

        @Override
        public void onCompletion(WorkCompletion polled) {
            completion = polled.copy();
        }
    }

    private final CompletionQueue queue;
    private final CompletionChannel channel;
    private final EndpointEnd end;

    EndpointCompletions(CompletionQueue queue, CompletionChannel channel, EndpointEnd end) {
        this.queue = queue;
        this.channel = channel;
        this.end = end;
    }

    /**
     * Waits for the next completion.
     *
     * @throws WorkCompletionException if the request failed
     * @throws ConnectionException if the connection has ended
     * @throws RdmaTimeoutException if none comes in time
     */
    WorkCompletion await(Duration timeout) throws InterruptedException {
        Taken taken = new Taken();
        spin(taken);
        if (taken.completion != null) {
            return successful(taken.completion);
        }
        long left = TimeUnit.NANOSECONDS.convert(timeout);
        while (true) {
            boolean hasEnded = end.hasCome();
            queue.arm();
            queue.poll(taken, 1); // a completion that came before the queue was armed raises no event
            WorkCompletion found = taken.completion;
            if (found != null) {
                return successful(found);
            }
            if (hasEnded && end.isPast()) {
                throw end.exception(null);
            }
            if (left <= 0) {
                throw new RdmaTimeoutException(1, List.of(), queue.describe(), timeout);
            }
            left -= awaitEvent(Math.min(left, SLICE));
        }
    }

    /** Waits for an event, and returns how long it was. A slice of virtual time counts in full. */
    private long awaitEvent(long slice) throws InterruptedException {
        long begin = System.nanoTime();
        CompletionQueue announced = channel.awaitEvent(Duration.ofNanos(slice));
        if (announced == null) {
            return slice;
        }
        announced.ackEvents();
        return System.nanoTime() - begin;
    }

    private void spin(Taken taken) throws InterruptedException {
        for (int i = 0; i < SPINS && queue.poll(taken, 1) == 0; i++) {
            if (Thread.interrupted()) {
                throw new InterruptedException("interrupted while polling " + queue.describe());
            }
            Thread.onSpinWait();
        }
    }

    private WorkCompletion successful(WorkCompletion completion) throws InterruptedException {
        try {
            return completion.orThrow();
        } catch (WorkCompletionException e) {
            boolean isFlushed = e.status() == WorkCompletionStatus.WR_FLUSH_ERR;
            if (isFlushed && end.await(EXPLANATION)) {
                throw end.exception(e);
            }
            throw e;
        }
    }
}
