package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.spi.CounterVerbs;
import org.kverbs.spi.FlowVerbs;

/** Flow rules and their counters behind the engine's lock, with the failures that a test injects. */
final class LockedSteering implements FlowVerbs, CounterVerbs {

    private final DeviceCalls calls;
    private final SteeringVerbs steering;

    LockedSteering(Hca hca, SteeringVerbs steering) {
        this.calls = new DeviceCalls(hca);
        this.steering = steering;
    }

    @Override
    public long createFlow(long qp, MemorySegment attributes) {
        return calls.make(Operation.CREATE_FLOW, () -> steering.createFlow(qp, attributes));
    }

    @Override
    public int destroyFlow(long flow) {
        return calls.call(Operation.DESTROY_FLOW, () -> steering.destroyFlow(flow));
    }

    @Override
    public long create(MemorySegment initAttributes) {
        return calls.make(Operation.CREATE_COUNTERS, steering::createCounters);
    }

    @Override
    public int attachToFlow(long counters, MemorySegment attributes, long flow) {
        return calls.call(
                Operation.ATTACH_COUNTERS, () -> steering.attach(counters, attributes.address(), flow));
    }

    @Override
    public int read(long counters, MemorySegment values, int count, int flags) {
        return calls.call(Operation.READ_COUNTERS, () -> steering.read(counters, values, count, flags));
    }

    @Override
    public int destroy(long counters) {
        return calls.call(Operation.DESTROY_COUNTERS, () -> steering.destroyCounters(counters));
    }
}
