package org.kverbs;

import java.lang.foreign.Arena;
import org.kverbs.attributes.Feature;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.spi.FlowVerbs;

/**
 * A flow rule ({@code struct ibv_flow}): the frames that match it go to its queue pair. {@link QueuePair#flow} makes
 * it. Closing it ends the rule; closing the queue pair, the counters or
 * the action of the rule closes it first.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_create_flow}.
 */
public final class Flow extends Resource {

    private final QueuePair queuePair;
    private final FlowVerbs verbs;
    private final FlowAttributes attributes;
    private final long handle;

    Flow(QueuePair queuePair, FlowVerbs verbs, FlowAttributes attributes, long handle) {
        super(new Lifetime(Turn.USERS, parents(queuePair, attributes)));
        this.queuePair = queuePair;
        this.verbs = verbs;
        this.attributes = attributes;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** See {@link QueuePair#flow}. */
    static Flow make(QueuePair queuePair, FlowAttributes attributes) {
        Context context = queuePair.protectionDomain().context();
        FlowCounters counters = attributes.counters();
        if (counters != null && counters.context() != context) {
            throw new IllegalArgumentException(counters.describe() + " belong to another open device than "
                    + queuePair.describe() + "; make both from the same context");
        }
        EspFlowAction action = attributes.action();
        if (action != null && action.context() != context) {
            throw new IllegalArgumentException(action.describe() + " belongs to another open device than "
                    + queuePair.describe() + "; make both from the same context");
        }
        String operation = "ibv_create_flow(" + queuePair.describe() + ", " + attributes + ")";
        try (Arena arena = Arena.ofConfined()) {
            return Resource.create(
                    errno -> context.verbs.has(Feature.FLOW_STEERING.verb())
                            ? SystemErrors.of(operation, errno) // the device has rules, but not this one
                            : context.refusal(Feature.FLOW_STEERING, operation, errno),
                    () -> context.verbs.flows().createFlow(queuePair.handle(), attributes.write(arena)),
                    h -> new Flow(queuePair, context.verbs.flows(), attributes, h),
                    madeFrom(queuePair, attributes));
        }
    }

    private static Lifetime[] parents(QueuePair queuePair, FlowAttributes attributes) {
        return Arrays.stream(madeFrom(queuePair, attributes)).map(each -> each.lifetime).toArray(Lifetime[]::new);
    }

    /** Returns what a rule is made from: a queue pair, and the counters and the action if it has them. */
    static Resource[] madeFrom(QueuePair queuePair, FlowAttributes attributes) {
        return Stream.of(queuePair, attributes.counters(), attributes.action())
                .filter(Objects::nonNull)
                .toArray(Resource[]::new);
    }

    /** Returns the queue pair that receives the frames. */
    public QueuePair queuePair() {
        return queuePair;
    }

    /** Returns the parameters of the rule. */
    public FlowAttributes attributes() {
        return attributes;
    }

    @Override
    protected long nativeAddress() {
        return queuePair.protectionDomain().context().nativeAddress(handle);
    }

    private void destroy() {
        SystemErrors.check("ibv_destroy_flow(" + describe() + ")", verbs.destroyFlow(handle));
    }

    @Override
    public String describe() {
        return "flow rule (" + attributes + ") of " + queuePair.describe();
    }
}
