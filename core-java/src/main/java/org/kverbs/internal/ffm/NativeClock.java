package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.ClockVerbs;

/** The clock of an open device of libibverbs. */
record NativeClock(long context, ContextTables tables) implements ClockVerbs {

    // man 3 ibv_query_rt_values_ex: 0 or errno
    @Override
    public int queryRealTimeValues(MemorySegment values) {
        return tables.call(VerbsContext.QUERY_RT_VALUES, context, values.address());
    }
}
