package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.FlowCounts;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.FlowRule;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvCounterAttachAttr;
import org.kverbs.internal.abi.IbvCounterDescription;
import org.kverbs.internal.abi.IbvCounters;
import org.kverbs.internal.abi.IbvFlow;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvReadCountersFlags;
import org.kverbs.internal.memory.Memory;

/** Makes and finds the flow rules of an open context and their counters; called with the lock held. */
final class SteeringVerbs {

    private final Hca hca;
    private final QueuePairVerbs queuePairs;
    private final EmbeddedFlowActions actions;
    private final Handles<FlowRule> rules;
    private final Handles<FlowCounts> counters;

    SteeringVerbs(Hca hca, Structures structures, QueuePairVerbs queuePairs, EmbeddedFlowActions actions) {
        this.hca = hca;
        this.actions = actions;
        this.queuePairs = queuePairs;
        this.rules = new Handles<>(structures, IbvFlow.SIZE, IbvFlow.HANDLE, hca.quotas.flowRules);
        // struct ibv_counters has no field for a driver
        this.counters =
                new Handles<>(structures, IbvCounters.SIZE + Long.BYTES, IbvCounters.SIZE, hca.quotas.flowCounters);
    }

    /** Removes all rules; called when the device is closed. */
    void close() {
        rules.forEach(hca.steering::remove);
    }

    private @Nullable FlowCounts counts(long address) {
        return counters.get(address);
    }

    long createFlow(long qp, MemorySegment attributes) {
        Qp found = queuePairs.queuePair(qp);
        if (!hca.link.carriesFrames()) {
            return -Errno.EOPNOTSUPP;
        }
        if (found == null || found.type != IbvQpType.IBV_QPT_RAW_PACKET) {
            return -Errno.EINVAL;
        }
        var reader = new FlowReader(attributes, this::counts, actions::action);
        int result = reader.read(found);
        if (result < 0) {
            return result;
        }
        FlowRule rule = reader.rule();
        long structure = rules.add(at -> rule);
        if (structure > 0) {
            hca.steering.add(rule);
        }
        return structure;
    }

    int destroyFlow(long flow) {
        FlowRule rule = rules.get(flow);
        if (rule == null) {
            return -Errno.EINVAL;
        }
        hca.steering.remove(rule);
        rules.remove(flow);
        return 0;
    }

    long createCounters() {
        return hca.link.carriesFrames() ? counters.add(at -> new FlowCounts()) : -Errno.EOPNOTSUPP;
    }

    int attach(long address, long attributes, long flow) {
        FlowCounts found = counts(address);
        int counter = Memory.getInt(attributes + IbvCounterAttachAttr.COUNTER_DESC);
        if (flow != 0) {
            return Refusal.because(
                    Errno.EOPNOTSUPP, "Attach the counters without a flow rule, and make the rule with them.");
        }
        if (found == null || counter < 0 || counter > IbvCounterDescription.IBV_COUNTER_BYTES) {
            return -Errno.EINVAL;
        }
        if (found.users > 0) {
            return -Errno.EBUSY;
        }
        return found.attach(counter, Memory.getInt(attributes + IbvCounterAttachAttr.INDEX))
                ? 0
                : Refusal.because(Errno.EINVAL, "The index is taken, or above 31.");
    }

    int read(long address, MemorySegment values, int count, int flags) {
        FlowCounts found = counts(address);
        int unknown = flags & ~IbvReadCountersFlags.IBV_READ_COUNTERS_ATTR_PREFER_CACHED;
        if (found == null || count < found.length() || unknown != 0) {
            return -Errno.EINVAL;
        }
        for (int i = 0; i < count; i++) {
            Memory.putLong(values.address() + (long) i * Long.BYTES, found.value(i));
        }
        return 0;
    }

    int destroyCounters(long address) {
        FlowCounts found = counts(address);
        if (found == null || found.users > 0) {
            return found == null ? -Errno.EINVAL : -Errno.EBUSY;
        }
        counters.remove(address);
        return 0;
    }
}
