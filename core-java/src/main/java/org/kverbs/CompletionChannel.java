package org.kverbs;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.Errno;

/**
 * A channel on which completion queues announce completions ({@code struct ibv_comp_channel}).
 *
 * <p><b>Usage.</b> Arm the queue, poll it once more, and only then wait. A completion that arrives between the last
 * poll and the arming raises no event.
 * <pre>{@code
 * cq.arm();
 * while (cq.poll(batch) == 0) {
 *     channel.awaitEvent(Duration.ofSeconds(1));
 *     cq.arm();
 * }
 * }</pre>
 *
 * <p>The channel counts the events of each queue. {@link CompletionQueue#ackEvents} acknowledges them in batches.
 * Closing a queue acknowledges its remaining events, so the close does not wait for them.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_create_comp_channel}, {@code ibv_get_cq_event}.
 */
public final class CompletionChannel extends Resource {

    private final Context context;
    private final long handle;
    private final Map<Long, CompletionQueue> queues = new ConcurrentHashMap<>();

    CompletionChannel(Context context, long handle) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy).waking(this::wake));
    }

    /** Returns the open device that this channel belongs to. */
    public Context context() {
        return context;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    void add(long cq, CompletionQueue queue) {
        queues.put(cq, queue);
    }

    /** Removes a destroyed queue, unless a new queue already has its address. */
    void remove(long cq, CompletionQueue queue) {
        queues.remove(cq, queue);
    }

    /**
     * Returns a file descriptor for poll or epoll that is readable while an event is pending, or -1 if the provider has
     * none. The descriptor is non-blocking. Only {@link #awaitEvent} may read from it.
     */
    public int fd() {
        lifetime.enter();
        try {
            return context.verbs.completionChannelFd(handle);
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Waits for an event and counts it for its queue ({@code ibv_get_cq_event}). Blocks the calling thread; a virtual
     * thread blocks its carrier too. Each event goes to one caller.
     *
     * @param timeout how long to wait; zero checks once
     * @return the queue that has completions, or null if the time ran out or {@link #wakeup} was called
     * @throws IllegalStateException if the channel is closed or another thread closes it during the wait
     * @throws InterruptedException if the thread is interrupted; the call notices it within 100 ms
     */
    public @Nullable CompletionQueue awaitEvent(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
        lifetime.enter();
        try {
            while (true) {
                long left = Math.max(0, deadline - System.nanoTime());
                long result = context.verbs.awaitCompletionEvent(handle, left);
                if (result == -Errno.EINTR) {
                    Thread.interrupted();
                    throw new InterruptedException("interrupted while waiting for an event of " + describe());
                }
                if (result < 0) {
                    throw SystemErrors.of("ibv_get_cq_event(" + describe() + ")", (int) -result);
                }
                if (result == 0) {
                    if (!isOpen()) {
                        throw closed();
                    }
                    return null;
                }
                CompletionQueue queue = queues.get(result);
                if (queue != null && queue.countEvent()) {
                    return queue;
                }
                // The queue is being closed, and its destruction waits until this event is acknowledged.
                context.verbs.ackCompletionEvents(result, 1);
            }
        } finally {
            lifetime.exit();
        }
    }

    /** Makes {@link #awaitEvent} return null: the call that another thread is in, or else the next call. */
    public void wakeup() {
        lifetime.enter();
        try {
            context.verbs.interruptCompletionChannel(handle);
        } finally {
            lifetime.exit();
        }
    }

    private void wake() {
        context.verbs.wakeCompletionChannel(handle);
    }

    private void destroy() {
        SystemErrors.check(
                "ibv_destroy_comp_channel(" + describe() + ")", context.verbs.destroyCompletionChannel(handle));
    }

    @Override
    public String describe() {
        return "completion channel on " + context.device().name();
    }
}
