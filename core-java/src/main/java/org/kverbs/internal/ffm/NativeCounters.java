package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.CounterVerbs;

/** Counters of a device of libibverbs. */
final class NativeCounters implements CounterVerbs {

    private final long context;
    private final ContextTables tables;

    NativeCounters(long context, ContextTables tables) {
        this.context = context;
        this.tables = tables;
    }

    // man 3 ibv_create_counters: pointer or NULL with errno
    @Override
    public long create(MemorySegment initAttributes) {
        return tables.make(VerbsContext.CREATE_COUNTERS, context, initAttributes.address());
    }

    // man 3 ibv_attach_counters_point_flow: 0 or errno
    @Override
    public int attachToFlow(long counters, MemorySegment attributes, long flow) {
        return tables.call(VerbsContext.ATTACH_COUNTERS_POINT_FLOW, counters, attributes.address(), flow, 0, 0);
    }

    // man 3 ibv_read_counters: 0 or errno
    @Override
    public int read(long counters, MemorySegment values, int count, int flags) {
        return tables.call(VerbsContext.READ_COUNTERS, counters, values.address(), count, flags, 0);
    }

    // man 3 ibv_create_counters: 0 or errno
    @Override
    public int destroy(long counters) {
        return tables.call(VerbsContext.DESTROY_COUNTERS, counters);
    }
}
