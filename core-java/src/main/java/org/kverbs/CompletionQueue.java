package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.Guard;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvCq;
import org.kverbs.internal.abi.IbvCqAttrMask;
import org.kverbs.internal.abi.IbvModifyCqAttr;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.CompletionQueueOps;

/**
 * A queue of completions of work requests ({@code struct ibv_cq}). One completion queue can serve any number of queue
 * pairs.
 *
 * <p>Safe for any thread: each completion goes to exactly one of the polling threads. Polling never blocks. After the
 * first call, polling allocates nothing. Source: {@code man 3 ibv_create_cq}, {@code ibv_poll_cq}.
 */
public final class CompletionQueue extends Resource {

    private static final int MOST_MODERATION = 0xffff;
    private static final VarHandle SPARE;

    static {
        try {
            SPARE = MethodHandles.lookup().findVarHandle(CompletionQueue.class, "spare", HandlerBatch.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The completions that one handler poll fetched, and the index of the next one to deliver. */
    private static final class HandlerBatch {
        final WorkCompletions completions = new WorkCompletions(64);
        int next;
    }

    private final Context context;
    private final @Nullable CompletionChannel channel;
    private final long handle;
    private final CompletionQueueOps ops;
    private final Guard pollGuard = new Guard();
    /**
     * The batch of the last handler poll, kept for the next one. Null while a poll uses it. Accessed only through
     * SPARE.
     */
    @SuppressWarnings("unused")
    private @Nullable HandlerBatch spare;
    /** Batches whose handler threw before their end. The following polls deliver the rest of them. */
    private final List<HandlerBatch> interrupted = new ArrayList<>();
    private volatile boolean hasInterrupted;

    private final Object eventLock = new Object();
    private int unackedEvents;
    private boolean refusesEvents;

    CompletionQueue(Context context, @Nullable CompletionChannel channel, long handle, boolean extended) {
        super(channel == null
                ? new Lifetime(Turn.FOUNDATIONS, context.lifetime)
                : new Lifetime(Turn.FOUNDATIONS, context.lifetime, channel.lifetime));
        this.context = context;
        this.channel = channel;
        this.handle = handle;
        this.ops = extended
                ? context.verbs.extendedCompletionQueueOps(handle) : context.verbs.completionQueueOps(handle);
        context.eventSources.put(handle, this);
        if (channel != null) {
            channel.add(handle, this);
        }
        lifetime.begin(this, Ending.of(this::describe, this::destroy).quiescing(this::quiesce));
    }

    /**
     * Calls {@link CompletionQueueOps#expectExtendedPosts}. Does nothing while the queue is being closed, since no
     * thread polls it then.
     */
    void expectExtendedPosts() {
        if (pollGuard.enter()) {
            try {
                ops.expectExtendedPosts();
            } finally {
                pollGuard.exit();
            }
        }
    }

    /** Returns the open device that this queue belongs to. */
    public Context context() {
        return context;
    }

    /** Returns the channel on which this queue announces completions, or null if it has none. */
    public @Nullable CompletionChannel channel() {
        return channel;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    /** Returns how many completions this queue has room for ({@code cqe}): at least the number that was asked for. */
    public int entries() {
        lifetime.enter();
        try {
            return Memory.at(handle, IbvCq.SIZE).get(JAVA_INT, IbvCq.CQE);
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Takes completions out of the queue into a batch ({@code ibv_poll_cq}).
     *
     * @param batch receives the completions, at most {@link WorkCompletions#capacity}; its former content is lost
     * @return the number of completions, 0 if the queue is empty
     * @throws RdmaSystemException if the queue is broken, by an overrun for example
     */
    public int poll(WorkCompletions batch) {
        try {
            int count = hasInterrupted ? takeInterrupted(batch) : 0;
            if (count == 0) {
                count = fetch(batch.capacity(), batch.address());
            }
            batch.size(count);
            return count;
        } finally {
            Reference.reachabilityFence(batch); // the device writes to the batch by its address
        }
    }

    private int fetch(int limit, long address) {
        int count;
        enterPoll();
        try {
            count = ops.poll(limit, address);
        } finally {
            pollGuard.exit();
        }
        return checked(count);
    }

    private void enterPoll() {
        if (!pollGuard.enter()) {
            throw closed();
        }
    }

    private int checked(int count) {
        if (count < 0) {
            // The C library returns -1 and sets no errno here. The queue is broken, and every later poll fails too.
            throw SystemErrors.of("ibv_poll_cq(" + describe() + ")", Errno.EIO);
        }
        return count;
    }

    /**
     * Takes up to {@code limit} completions out of the queue and passes each to the handler. If the handler throws, the
     * completions after the current one are not lost: the next poll of either kind delivers them.
     *
     * @return how many completions the handler got
     * @throws RdmaSystemException if the queue is broken, by an overrun for example
     */
    public int poll(CompletionHandler handler, int limit) {
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
        enterPoll();
        try {
            batch = (HandlerBatch) SPARE.getAcquire(this);
            if (batch == null) {
                batch = new HandlerBatch();
                SPARE.setRelease(this, batch);
            }
            WorkCompletions completions = batch.completions;
            count = ops.poll(Math.min(limit, completions.capacity()), completions.address());
            if (count > 0) {
                SPARE.setRelease(this, null);
                completions.size(count);
                batch.next = 0;
            }
        } finally {
            pollGuard.exit();
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
        if (!isOpen()) {
            throw closed();
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
        long from = batch.completions.address() + (long) batch.next * IbvWc.SIZE;
        try {
            Memory.copy(from, into.address(), (long) count * IbvWc.SIZE);
        } finally {
            Reference.reachabilityFence(batch);
        }
        batch.next += count;
        if (batch.next < batch.completions.size()) {
            keepInterrupted(batch);
        }
        return count;
    }

    /**
     * Polls until {@code count} completions have arrived and returns copies of them. For scripts and tests: it spins
     * 1,000 times, then sleeps 50 us between polls. It does not check the status of the completions; {@link
     * WorkCompletion#orThrow} does.
     *
     * @throws RdmaTimeoutException if fewer arrive in time; the exception holds those that did
     * @throws InterruptedException if the thread is interrupted
     */
    public List<WorkCompletion> await(int count, Duration timeout) throws InterruptedException {
        var got = new ArrayList<WorkCompletion>(count);
        long deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
        for (int idle = 0; got.size() < count; ) {
            if (poll(completion -> got.add(completion.copy()), count - got.size()) > 0) {
                idle = 0;
                continue;
            }
            if (System.nanoTime() - deadline > 0) {
                throw new RdmaTimeoutException(count, got, describe(), timeout);
            }
            if (Thread.interrupted()) {
                throw new InterruptedException("interrupted while polling " + describe());
            }
            if (idle++ < 1000) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(50_000);
            }
        }
        return got;
    }

    /**
     * Requests one event on the channel at the next completion ({@code ibv_req_notify_cq}). Poll once more after this
     * call and before waiting: see {@link CompletionChannel}.
     *
     * @throws IllegalStateException if the queue has no channel
     */
    public void arm() {
        arm(false);
    }

    /** The same for the next solicited message or error only: {@link SendRequests#solicited} on the sender's side. */
    public void armSolicited() {
        arm(true);
    }

    private void arm(boolean solicitedOnly) {
        if (channel == null) {
            throw new IllegalStateException(describe() + " was made without a completion channel, so it can't announce"
                    + " completions; make it with one or poll");
        }
        lifetime.enter();
        try {
            int result = ops.requestNotify(solicitedOnly);
            if (result < 0) {
                throw SystemErrors.of("ibv_req_notify_cq(" + describe() + ")", -result);
            }
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Counts an event that the channel got. Returns false if the queue is being closed; the caller then acknowledges
     * the event.
     */
    boolean countEvent() {
        synchronized (eventLock) {
            if (refusesEvents) {
                return false;
            }
            unackedEvents++;
            return true;
        }
    }

    /**
     * Acknowledges all events that {@link CompletionChannel#awaitEvent} has returned for this queue ({@code
     * ibv_ack_cq_events}). The call takes a lock in the library, so call it once for many events. Closing the queue
     * acknowledges the rest.
     *
     * @return how many events were acknowledged
     */
    public int ackEvents() {
        lifetime.enter();
        try {
            return ackAll();
        } finally {
            lifetime.exit();
        }
    }

    private int ackAll() {
        synchronized (eventLock) {
            int count = unackedEvents;
            if (count > 0) {
                context.verbs.ackCompletionEvents(handle, count);
                unackedEvents = 0;
            }
            return count;
        }
    }

    /**
     * Changes the number of completions that this queue has room for ({@code ibv_resize_cq}).
     *
     * @throws RdmaSystemException EINVAL if the queue holds more completions than that or the device does not allow so
     *     many; EOPNOTSUPP or ENOSYS if the device cannot resize (soft-iWARP)
     */
    public void resize(int entries) {
        command(
                "ibv_resize_cq(" + describe() + ", cqe=" + entries + ")",
                () -> context.excess((excess, limits) -> excess.of("cqe", entries, "max_cqe", limits.maxCqe())),
                () -> context.verbs.resizeCompletionQueue(handle, entries));
    }

    /**
     * Makes the device announce completions together ({@code ibv_modify_cq}): after a call of {@link #arm} the channel
     * gets its event when {@code count} completions have come, or when {@code period} is over, which the embedded device
     * counts from the first of them and mlx5 from the last event. Fewer events cost less. Polling is not changed.
     *
     * <p>{@code DeviceAttributesEx.cqModeration} has the device's limits; they are 0 if it has no moderation. Soft-RoCE
     * and soft-iWARP have none.
     *
     * @param count how many completions an event waits for, from 0 to 65,535; 0 and 1 end the moderation
     * @param period how long an event waits, up to 65,535 us; it is cut to whole microseconds, and 0 ends the moderation
     * @throws UnsupportedVerbException if the device has no moderation
     * @throws RdmaSystemException if the device refuses, such as EINVAL for values above its limits
     */
    public void moderate(int count, Duration period) {
        long micros = Ranges.require("period", period.toNanos() / 1000, 0, MOST_MODERATION);
        Ranges.require("count", count, 0, MOST_MODERATION);
        String operation = "ibv_modify_cq(" + describe() + ", cq_count=" + count + ", cq_period=" + micros + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvModifyCqAttr.SIZE, Integer.BYTES);
            attributes.set(JAVA_INT, IbvModifyCqAttr.ATTR_MASK, IbvCqAttrMask.IBV_CQ_ATTR_MODERATE);
            attributes.set(JAVA_SHORT, IbvModifyCqAttr.MODERATE_CQ_COUNT, (short) count);
            attributes.set(JAVA_SHORT, IbvModifyCqAttr.MODERATE_CQ_PERIOD, (short) micros);
            command(
                    errno -> context.refusal(Feature.COMPLETION_MODERATION, operation, errno),
                    () -> context.verbs.modifyCompletionQueue(handle, attributes));
        }
    }

    private void quiesce() {
        pollGuard.beginClose();
        pollGuard.awaitDrained();
    }

    private void destroy() {
        synchronized (eventLock) {
            refusesEvents = true;
            ackAll();
        }
        SystemErrors.check("ibv_destroy_cq(" + describe() + ")", context.verbs.destroyCompletionQueue(handle));
        context.eventSources.remove(handle, this); // a new queue can already have the address
        if (channel != null) {
            channel.remove(handle, this);
        }
    }

    @Override
    public String describe() {
        return "completion queue on " + context.device().name();
    }
}
