package org.kverbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.Guard;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.CompletionQueueOps;

/**
 * The polls of a completion queue, by a batch of the caller or by a handler. One thread at a time is in the device's
 * queue; the handlers of several threads run side by side.
 */
final class CompletionPoller {

    private static final VarHandle SPARE;

    static {
        try {
            SPARE = MethodHandles.lookup().findVarHandle(CompletionPoller.class, "spare", HandlerBatch.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The completions that one handler poll fetched, and the index of the next one to deliver. */
    private static final class HandlerBatch {
        final WorkCompletions completions = new WorkCompletions(64);
        int next;
    }

    private final CompletionQueue queue;
    private final CompletionQueueOps ops;
    /** The fields beyond {@code struct ibv_wc}, a mask of {@code enum ibv_create_cq_wc_flags}. */
    private final int extraFields;
    /** True if a poll is a short call, which asks for none of those. */
    private final boolean isShort;

    private final Guard guard = new Guard();
    /**
     * The batch of the last handler poll, kept for the next one. Null while a poll uses it. Accessed only through
     * SPARE.
     */
    @SuppressWarnings("unused")
    private @Nullable HandlerBatch spare;
    /** Batches whose handler threw before their end. The following polls deliver the rest of them. */
    private final List<HandlerBatch> interrupted = new ArrayList<>();
    private volatile boolean hasInterrupted;

    CompletionPoller(CompletionQueue queue, CompletionQueueOps ops, int extraFields) {
        this.queue = queue;
        this.ops = ops;
        this.extraFields = extraFields;
        this.isShort = extraFields == 0 && ops.isShort();
    }

    /**
     * Calls {@link CompletionQueueOps#expectExtendedPosts}. Does nothing while the queue is being closed, since no
     * thread polls it then.
     */
    void expectExtendedPosts() {
        if (guard.enter()) {
            try {
                ops.expectExtendedPosts();
            } finally {
                guard.exit();
            }
        }
    }

    /** Admits no further polls and waits until the running ones have ended. */
    void close() {
        guard.beginClose();
        guard.awaitDrained();
    }

    /** See {@link CompletionQueue#poll(WorkCompletions)}. */
    int poll(WorkCompletions batch) {
        try {
            int count = hasInterrupted ? takeInterrupted(batch) : 0;
            if (count == 0) {
                count = fetch(batch);
            }
            batch.fill(count, extraFields);
            return count;
        } finally {
            Reference.reachabilityFence(batch); // the device writes to the batch by its address
        }
    }

    private int fetch(WorkCompletions batch) {
        return isShort ? fetchShort(batch) : fetchLong(batch);
    }

    /**
     * Does what {@link #fetchLong} does. The JIT compiles a method by the queues that it saw there first. If it saw
     * those of an embedded device, whose polls are long, it would make two calls more for each poll of a card.
     */
    private int fetchShort(WorkCompletions batch) {
        int count;
        enter();
        try {
            count = ops.poll(batch.capacity(), batch.address());
        } finally {
            guard.exit();
        }
        return checked(count);
    }

    private int fetchLong(WorkCompletions batch) {
        int count;
        enter();
        try {
            count = ask(batch, batch.capacity());
        } finally {
            guard.exit();
        }
        return checked(count);
    }

    private int ask(WorkCompletions batch, int limit) {
        return extraFields == 0
                ? ops.poll(limit, batch.address()) : ops.poll(limit, batch.address(), batch.extrasAddress());
    }

    private void enter() {
        if (!guard.enter()) {
            throw queue.closed();
        }
    }

    private int checked(int count) {
        if (count < 0) {
            // The C library returns -1 and sets no errno here. The queue is broken, and every later poll fails too.
            throw SystemErrors.of("ibv_poll_cq(" + queue.describe() + ")", Errno.EIO);
        }
        return count;
    }

    /** See {@link CompletionQueue#poll(CompletionHandler, int)}. */
    int poll(CompletionHandler handler, int limit) {
        HandlerBatch batch = hasInterrupted ? takeInterrupted() : null;
        if (batch == null) {
            batch = fetch(limit);
        }
        return batch == null ? 0 : deliver(batch, handler, limit);
    }

    /**
     * Fetches completions into the spare batch and returns it, or null if the queue is empty. Only the thread inside
     * the guard takes the spare batch, and only when completions arrived.
     */
    private @Nullable HandlerBatch fetch(int limit) {
        HandlerBatch batch = null;
        int count;
        enter();
        try {
            batch = (HandlerBatch) SPARE.getAcquire(this);
            if (batch == null) {
                batch = new HandlerBatch();
                SPARE.setRelease(this, batch);
            }
            WorkCompletions completions = batch.completions;
            int most = Math.min(limit, completions.capacity());
            count = isShort ? ops.poll(most, completions.address()) : ask(completions, most);
            if (count > 0) {
                SPARE.setRelease(this, null);
                completions.fill(count, extraFields);
                batch.next = 0;
            }
        } finally {
            guard.exit();
            Reference.reachabilityFence(batch); // the device writes to the batch by its address
        }
        return checked(count) == 0 ? null : batch;
    }

    private int deliver(HandlerBatch batch, CompletionHandler handler, int limit) {
        WorkCompletions completions = batch.completions;
        int handled = 0;
        try {
            while (batch.next < completions.size() && handled < limit) {
                handler.onCompletion(completions.get(batch.next++));
                handled++;
            }
        } finally {
            if (batch.next < completions.size()) {
                keepInterrupted(batch);
            } else {
                SPARE.setRelease(this, batch);
            }
        }
        return handled;
    }

    private void keepInterrupted(HandlerBatch batch) {
        synchronized (interrupted) {
            interrupted.add(batch);
            hasInterrupted = true;
        }
    }

    private @Nullable HandlerBatch takeInterrupted() {
        if (!queue.isOpen()) {
            throw queue.closed();
        }
        synchronized (interrupted) {
            HandlerBatch first = interrupted.isEmpty() ? null : interrupted.removeFirst();
            hasInterrupted = !interrupted.isEmpty();
            return first;
        }
    }

    private int takeInterrupted(WorkCompletions into) {
        HandlerBatch batch = takeInterrupted();
        if (batch == null) {
            return 0;
        }
        int count = Math.min(into.capacity(), batch.completions.size() - batch.next);
        into.copyFrom(batch.completions, batch.next, count, extraFields);
        batch.next += count;
        if (batch.next < batch.completions.size()) {
            keepInterrupted(batch);
        }
        return count;
    }
}
