package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.CompletionField;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvCq;
import org.kverbs.internal.abi.IbvCqAttrMask;
import org.kverbs.internal.abi.IbvCqInitAttrEx;
import org.kverbs.internal.abi.IbvCreateCqWcFlags;
import org.kverbs.internal.abi.IbvModifyCqAttr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.CompletionQueueOps;
import org.kverbs.spi.DriverCompletionQueues;
import org.kverbs.spi.DriverObjects;

/**
 * A queue of completions of work requests ({@code struct ibv_cq}). One completion queue can serve any number of queue
 * pairs.
 *
 * <p>Safe for any thread: each completion goes to exactly one of the polling threads. Polling never blocks. After the
 * first call, polling allocates nothing. Source: {@code man 3 ibv_create_cq}, {@code ibv_poll_cq}.
 */
public final class CompletionQueue extends Resource {

    private static final int MOST_MODERATION = 0xffff;
    /** The LID and the service level of a message's sender. */
    private static final int SENDER =
            IbvCreateCqWcFlags.IBV_WC_EX_WITH_SLID | IbvCreateCqWcFlags.IBV_WC_EX_WITH_SL;

    private final Context context;
    private final @Nullable CompletionChannel channel;
    private final long handle;
    private final CompletionQueueOps ops;
    private final CompletionQueueOptions options;
    private final CompletionPoller poller;
    private final CompletionEvents events;

    private CompletionQueue(
            Context context,
            CompletionQueueAttributes attributes,
            @Nullable DriverObjects driver,
            long handle,
            int wcFlags) {
        super(new Lifetime(Turn.FOUNDATIONS, lifetimes(parents(context, attributes))));
        this.context = context;
        this.channel = attributes.channel();
        this.handle = handle;
        this.options = attributes.options();
        int ofDriver = 0;
        if (driver instanceof DriverCompletionQueues queues) {
            this.ops = context.verbs.driver().completionQueueOps(
                    handle, wcFlags, queues.readers(context.verbs, handle));
            ofDriver = queues.fields();
        } else {
            this.ops = attributes.extended()
                    ? context.verbs.extendedCompletionQueueOps(handle, wcFlags)
                    : context.verbs.completionQueueOps(handle);
        }
        this.poller = new CompletionPoller(this, ops, CompletionField.mask(options.fields()) | ofDriver);
        this.events = new CompletionEvents(context.verbs, handle);
        context.events.add(handle, this);
        if (channel != null) {
            channel.add(handle, this);
        }
        lifetime.begin(this, Ending.of(this::describe, this::destroy).quiescing(poller::close));
    }

    /** Makes a queue; see {@link Context#completionQueue(CompletionQueueAttributes)}. */
    static CompletionQueue make(
            Context context, CompletionQueueAttributes attributes, @Nullable DriverObjects driver) {
        CompletionChannel channel = attributes.channel();
        ProtectionDomain domain = attributes.options().parentDomain();
        if (channel != null) {
            requireOf(context, channel.context(), channel, "channel");
        }
        if (domain != null) {
            requireOf(context, domain.context(), domain, "domain");
        }
        String operation = "%s(%s, cqe=%d, comp_vector=%d%s)"
                .formatted(
                        nameOfCall(attributes, driver),
                        context.device().name(),
                        attributes.entries(),
                        attributes.vector(),
                        attributes.options().isNone() ? "" : ", " + attributes.options());
        var wcFlags = new int[1];
        return create(
                errno -> refusal(context, attributes, driver, operation, errno),
                () -> makeHandle(context, attributes, driver, wcFlags),
                h -> new CompletionQueue(context, attributes, driver, h, wcFlags[0]),
                parents(context, attributes));
    }

    private static String nameOfCall(CompletionQueueAttributes attributes, @Nullable DriverObjects driver) {
        if (driver != null) {
            return driver.function();
        }
        return attributes.extended() ? "ibv_create_cq_ex" : "ibv_create_cq";
    }

    private static void requireOf(Context context, Context actual, Resource part, String name) {
        if (actual != context) {
            throw new IllegalArgumentException(part.describe() + " belongs to another open device than "
                    + context.describe() + "; make the " + name + " from the same context");
        }
    }

    private static Resource[] parents(Context context, CompletionQueueAttributes attributes) {
        return Stream.of(context, attributes.channel(), attributes.options().parentDomain())
                .filter(Objects::nonNull)
                .toArray(Resource[]::new);
    }

    private static Lifetime[] lifetimes(Resource... parents) {
        return Arrays.stream(parents).map(parent -> parent.lifetime).toArray(Lifetime[]::new);
    }

    /** Makes the native queue. An extended one gets the fields that {@code wcFlags} has afterwards. */
    private static long makeHandle(
            Context context, CompletionQueueAttributes attributes, @Nullable DriverObjects driver, int[] wcFlags) {
        if (!attributes.extended()) {
            CompletionChannel channel = attributes.channel();
            return context.verbs.createCompletionQueue(
                    attributes.entries(), channel == null ? 0 : channel.handle(), attributes.vector());
        }
        wcFlags[0] = attributes.options().wcFlags();
        long cq = makeExtended(context, attributes, driver, wcFlags[0]);
        if (cq == -Errno.EOPNOTSUPP && (wcFlags[0] & CompletionField.TIMESTAMP.bit()) != 0) {
            wcFlags[0] &= ~SENDER; // a completion of mlx4 has either these or a timestamp
            cq = makeExtended(context, attributes, driver, wcFlags[0]);
        }
        return cq;
    }

    private static long makeExtended(
            Context context, CompletionQueueAttributes attributes, @Nullable DriverObjects driver, int wcFlags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvCqInitAttrEx.SIZE, JAVA_LONG.byteAlignment());
            attributes.writeTo(init);
            init.set(JAVA_LONG, IbvCqInitAttrEx.WC_FLAGS, wcFlags);
            return driver == null
                    ? context.verbs.createCompletionQueueEx(init)
                    : context.verbs.driver().createCompletionQueue(() -> driver.create(context.verbs, init));
        }
    }

    private static RuntimeException refusal(
            Context context,
            CompletionQueueAttributes attributes,
            @Nullable DriverObjects driver,
            String operation,
            int errno) {
        boolean isMissing = SystemErrors.isMissing(errno);
        if (isMissing && driver != null) {
            String needs = (driver.needs() + " " + attributes.options().needs()).strip();
            return SystemErrors.optional(context.device().name(), operation, errno, needs);
        }
        if (isMissing && !attributes.options().isNone()) {
            return SystemErrors.optional(
                    context.device().name(), operation, errno, attributes.options().needs());
        }
        return SystemErrors.refused(operation, errno, () -> context.limits.excess((excess, limits) -> excess
                .of("cqe", attributes.entries(), "max_cqe", limits.maxCqe())
                .ofIndex("comp_vector", attributes.vector(), "num_comp_vectors", context.verbs.completionVectors())));
    }

    /** Calls {@link CompletionQueueOps#expectExtendedPosts}. */
    void expectExtendedPosts() {
        poller.expectExtendedPosts();
    }

    /** Returns the open device that this queue belongs to. */
    public Context context() {
        return context;
    }

    /** Returns the channel on which this queue announces completions, or null if it has none. */
    public @Nullable CompletionChannel channel() {
        return channel;
    }

    /** Returns what the queue was made with beyond {@code ibv_create_cq}. */
    public CompletionQueueOptions options() {
        return options;
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
        return poller.poll(batch);
    }

    /**
     * Takes up to {@code limit} completions out of the queue and passes each to the handler. If the handler throws, the
     * completions after the current one are not lost: the next poll of either kind delivers them.
     *
     * @return how many completions the handler got
     * @throws RdmaSystemException if the queue is broken, by an overrun for example
     */
    public int poll(CompletionHandler handler, int limit) {
        return poller.poll(handler, limit);
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
        return events.count();
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
            return events.acknowledge();
        } finally {
            lifetime.exit();
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
                () -> context.limits.excess((excess, limits) -> excess.of("cqe", entries, "max_cqe", limits.maxCqe())),
                () -> context.verbs.resizeCompletionQueue(handle, entries));
    }

    /**
     * Makes the device announce completions together ({@code ibv_modify_cq}): after a call of {@link #arm} the channel
     * gets its event when {@code count} completions have come, or when {@code period} is over, which the embedded
     * device counts from the first of them and mlx5 from the last event. Fewer events cost less. Polling is not
     * changed.
     *
     * <p>{@code DeviceAttributesEx.cqModeration} has the device's limits; they are 0 if it has no moderation. Soft-RoCE
     * and soft-iWARP have none.
     *
     * @param count how many completions an event waits for, from 0 to 65,535; 0 and 1 end the moderation
     * @param period how long an event waits, up to 65,535 us; it is cut to whole microseconds, and 0 ends the
     *     moderation
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

    private void destroy() {
        events.end();
        SystemErrors.check("ibv_destroy_cq(" + describe() + ")", context.verbs.destroyCompletionQueue(handle));
        context.events.remove(handle, this); // a new queue can already have the address
        if (channel != null) {
            channel.remove(handle, this);
        }
    }

    @Override
    public String describe() {
        return "completion queue on " + context.device().name();
    }
}
