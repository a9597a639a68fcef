package org.kverbs.embedded.internal.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvValuesEx;
import org.kverbs.internal.abi.IbvValuesMask;
import org.kverbs.spi.ClockVerbs;

/** The clock of an embedded device: that of its engine, with a tick of one nanosecond. */
record EmbeddedClock(Hca hca, DeviceCalls calls) implements ClockVerbs {

    @Override
    public int queryRealTimeValues(MemorySegment values) {
        if ((values.get(JAVA_INT, IbvValuesEx.COMP_MASK) & IbvValuesMask.IBV_VALUES_MASK_RAW_CLOCK) == 0) {
            return -Errno.EINVAL; // as mlx5 answers: nothing that it has was asked for
        }
        return calls.call(Operation.QUERY_CLOCK, () -> {
            values.set(JAVA_INT, IbvValuesEx.COMP_MASK, IbvValuesMask.IBV_VALUES_MASK_RAW_CLOCK);
            values.set(JAVA_LONG, IbvValuesEx.RAW_CLOCK_TV_SEC, 0);
            values.set(JAVA_LONG, IbvValuesEx.RAW_CLOCK_TV_NSEC, hca.engine.now());
            return 0;
        });
    }
}
