package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.IntSupplier;
import org.kverbs.attributes.CompletionCounterCapabilities;
import org.kverbs.attributes.CountedOperation;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.CompletionCounterLayout;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.CompletionCounterVerbs;
import org.kverbs.spi.CompletionCounterVerbs.Value;

/**
 * Counts operations that are done, and apart from them those that failed ({@code struct ibv_comp_cntr}). It tells how
 * many requests of its queue pairs are complete, signaled or not, without a completion of each.
 *
 * <p>Safe for any thread. A value that a device changes can be seen a little later. A counter that is attached to a
 * queue pair can be closed only after the queue pair: its close fails with EBUSY before. Closing the context closes
 * both in this order. Source: {@code man 3 ibv_create_comp_cntr}, {@code ibv_qp_attach_comp_cntr}.
 */
public final class CompletionCounter extends Resource {

    private final Context context;
    private final long handle;
    private final Object valueLock = new Object();
    /** The room for a value that is read, so that a read allocates nothing; under its lock. */
    private final MemorySegment value = Arena.ofAuto().allocate(JAVA_LONG);

    private CompletionCounter(Context context, long handle) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    static CompletionCounter make(Context context, int type) {
        String operation = "ibv_create_comp_cntr(" + context.device().name() + ", "
                + (type == CompletionCounterLayout.IBV_COMP_CNTR_TYPE_BYTES ? "BYTES" : "WRS") + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(CompletionCounterLayout.INIT_SIZE, Long.BYTES);
            init.set(JAVA_INT, CompletionCounterLayout.INIT_TYPE, type);
            return create(
                    errno -> context.refusal(Feature.COMPLETION_COUNTERS, operation, errno),
                    () -> context.verbs.completionCounters().create(init),
                    h -> new CompletionCounter(context, h),
                    context);
        }
    }

    static CompletionCounterCapabilities capabilities(Context context) {
        String operation = "ibv_query_comp_cntr_caps(" + context.device().name() + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(CompletionCounterLayout.CAPS_SIZE, Long.BYTES);
            context.command(
                    errno -> context.refusal(Feature.COMPLETION_COUNTERS, operation, errno),
                    () -> context.verbs.completionCounters().queryCapabilities(to));
            return new CompletionCounterCapabilities(
                    to.get(JAVA_LONG, CompletionCounterLayout.CAPS_MAX_VALUE),
                    to.get(JAVA_INT, CompletionCounterLayout.CAPS_MAX_COUNTERS),
                    CountedOperation.of(to.get(JAVA_INT, CompletionCounterLayout.CAPS_OPERATIONS)));
        }
    }

    /** Returns the open device that the counter belongs to. */
    public Context context() {
        return context;
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    /**
     * Counts operations of a queue pair from now on ({@code ibv_qp_attach_comp_cntr}), beside those of other queue
     * pairs. Only the end of the queue pair ends it.
     *
     * @param queuePair a queue pair of the same context, in state RESET or INIT
     * @param operations at least one, which no counter counts for this queue pair
     * @throws IllegalArgumentException if the queue pair belongs to another context, or there is no operation
     * @throws UnsupportedVerbException if the device cannot count one of the operations
     * @throws RdmaSystemException EINVAL in another state; EBUSY if a counter counts one of the operations
     */
    public void attach(QueuePair queuePair, CountedOperation... operations) {
        if (queuePair.protectionDomain().context() != context || operations.length == 0) {
            throw new IllegalArgumentException(operations.length == 0
                    ? "name at least one operation for the counter"
                    : queuePair.describe() + " belongs to another open device than the counter");
        }
        int mask = Arrays.stream(operations).mapToInt(CountedOperation::bit).reduce(0, (a, b) -> a | b);
        String call = "ibv_qp_attach_comp_cntr(" + queuePair.describe() + ", " + CountedOperation.of(mask) + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(CompletionCounterLayout.ATTACH_SIZE, Long.BYTES);
            attributes.set(JAVA_INT, CompletionCounterLayout.ATTACH_OPERATIONS, mask);
            queuePair.command(
                    errno -> context.refusal(Feature.COMPLETION_COUNTERS, call, errno),
                    () -> command(
                            errno -> context.refusal(Feature.COMPLETION_COUNTERS, call, errno),
                            () -> verbs().attach(queuePair.handle(), handle, attributes)));
        }
    }

    /** Reads how many operations, or bytes, are done ({@code ibv_read_comp_cntr}). Unsigned. Allocates nothing. */
    public long read() {
        return read(Value.COMPLETIONS, "ibv_read_comp_cntr");
    }

    /** Reads how many operations failed ({@code ibv_read_err_comp_cntr}). Unsigned. Allocates nothing. */
    public long readErrors() {
        return read(Value.ERRORS, "ibv_read_err_comp_cntr");
    }

    /** Sets the count ({@code ibv_set_comp_cntr}). Operations that complete meanwhile can be lost. */
    public void set(long value) {
        call("ibv_set_comp_cntr", () -> verbs().set(handle, Value.COMPLETIONS, value));
    }

    /** Sets the count of failures ({@code ibv_set_err_comp_cntr}). Failures meanwhile can be lost. */
    public void setErrors(long value) {
        call("ibv_set_err_comp_cntr", () -> verbs().set(handle, Value.ERRORS, value));
    }

    /** Adds to the count ({@code ibv_inc_comp_cntr}). */
    public void increment(long amount) {
        call("ibv_inc_comp_cntr", () -> verbs().increment(handle, Value.COMPLETIONS, amount));
    }

    /** Adds to the count of failures ({@code ibv_inc_err_comp_cntr}). */
    public void incrementErrors(long amount) {
        call("ibv_inc_err_comp_cntr", () -> verbs().increment(handle, Value.ERRORS, amount));
    }

    private long read(Value which, String name) {
        lifetime.enter();
        try {
            synchronized (valueLock) {
                int result = verbs().read(handle, which, value);
                if (result < 0) {
                    throw refusal(name, -result);
                }
                return value.get(JAVA_LONG, 0);
            }
        } finally {
            lifetime.exit();
        }
    }

    private void call(String name, IntSupplier call) {
        command(errno -> refusal(name, errno), call);
    }

    private RdmaSystemException refusal(String name, int errno) {
        return context.refusal(Feature.COMPLETION_COUNTERS, name + "(" + context.device().name() + ")", errno);
    }

    private CompletionCounterVerbs verbs() {
        return context.verbs.completionCounters();
    }

    private void destroy() {
        int result = verbs().destroy(handle);
        if (result == -Errno.EBUSY) {
            throw new RdmaSystemException("ibv_destroy_comp_cntr(" + describe() + ")", Errno.EBUSY,
                    "Close the queue pairs that it is attached to before.");
        }
        SystemErrors.check("ibv_destroy_comp_cntr(" + describe() + ")", result);
    }

    @Override
    public String describe() {
        return "completion counter on " + context.device().name();
    }
}
