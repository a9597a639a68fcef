package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.FlowCounter;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvCounterAttachAttr;
import org.kverbs.internal.abi.IbvCountersInitAttr;
import org.kverbs.internal.abi.IbvReadCountersFlags;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.CounterVerbs;

/**
 * Counters of flow rules ({@code struct ibv_counters}). {@link #attach} says what is counted at which index. Rules that
 * are made with the counters afterwards add to them: {@link FlowAttributesBuilder#count}.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_create_counters}, {@code ibv_attach_counters_point_flow}, {@code
 * ibv_read_counters}.
 */
public final class FlowCounters extends Resource {

    /** The most counters of one object that kverbs reads. The drivers have fewer kinds of counters than this. */
    private static final int MOST = 1 << 16;

    private final Context context;
    private final CounterVerbs verbs;
    private final long handle;

    /** See {@link Context#flowCounters}. */
    static FlowCounters make(Context context) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvCountersInitAttr.SIZE, JAVA_LONG.byteAlignment());
            String operation = "ibv_create_counters(" + context.device().name() + ")";
            return Resource.create(
                    errno -> context.refusal(Feature.FLOW_COUNTERS, operation, errno),
                    () -> context.verbs.flowCounters().create(init),
                    h -> new FlowCounters(context, context.verbs.flowCounters(), h),
                    context);
        }
    }

    FlowCounters(Context context, CounterVerbs verbs, long handle) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.verbs = verbs;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the open device that the counters belong to. */
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

    /**
     * Says what is counted at an index ({@code ibv_attach_counters_point_flow} without a flow). Call this before the
     * first rule is made with the counters.
     *
     * @param counter what is counted
     * @param index the position of the value in {@link #read}, from 0
     * @return this
     * @throws RdmaSystemException if the device refuses: EBUSY if a rule uses the counters
     */
    public FlowCounters attach(FlowCounter counter, int index) {
        Ranges.require("index", index, 0, MOST - 1);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment point = arena.allocate(IbvCounterAttachAttr.SIZE, JAVA_LONG.byteAlignment());
            point.set(JAVA_INT, IbvCounterAttachAttr.COUNTER_DESC, counter.code());
            point.set(JAVA_INT, IbvCounterAttachAttr.INDEX, index);
            String operation = "ibv_attach_counters_point_flow(%s, %s, index=%d)"
                    .formatted(context.device().name(), counter, index);
            command(errno -> context.refusal(Feature.FLOW_COUNTERS, operation, errno),
                    () -> verbs.attachToFlow(handle, point, 0));
            return this;
        }
    }

    /**
     * Reads the values from the hardware ({@code ibv_read_counters}).
     *
     * @param count how many values to read, from index 0; every attached index must be below it
     * @return the values since the first rule was made with the counters; 0 at an index without a counter
     * @throws RdmaSystemException if the device refuses: EINVAL if an attached index is not below {@code count}
     */
    public long[] read(int count) {
        return read(count, 0);
    }

    /**
     * Reads the values, from a cache of the driver if it has one ({@code IBV_READ_COUNTERS_ATTR_PREFER_CACHED}); else
     * as {@link #read}.
     */
    public long[] readCached(int count) {
        return read(count, IbvReadCountersFlags.IBV_READ_COUNTERS_ATTR_PREFER_CACHED);
    }

    private long[] read(int count, int flags) {
        Ranges.require("count", count, 1, MOST);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(JAVA_LONG, count);
            String operation = "ibv_read_counters(%s, ncounters=%d)".formatted(context.device().name(), count);
            command(errno -> context.refusal(Feature.FLOW_COUNTERS, operation, errno),
                    () -> verbs.read(handle, values, count, flags));
            return values.toArray(JAVA_LONG);
        }
    }

    private void destroy() {
        SystemErrors.check("ibv_destroy_counters(" + describe() + ")", verbs.destroy(handle));
    }

    @Override
    public String describe() {
        return "flow counters on " + context.device().name();
    }
}
