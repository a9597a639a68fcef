package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.FlowVerbs;

/** Flow rules of a device of libibverbs. */
final class NativeFlows implements FlowVerbs {

    private final ContextTables tables;

    NativeFlows(ContextTables tables) {
        this.tables = tables;
    }

    // man 3 ibv_create_flow: pointer or NULL with errno
    @Override
    public long createFlow(long qp, MemorySegment attributes) {
        return tables.make(VerbsContext.IBV_CREATE_FLOW, qp, attributes.address());
    }

    // man 3 ibv_create_flow: 0 or errno
    @Override
    public int destroyFlow(long flow) {
        return tables.call(VerbsContext.IBV_DESTROY_FLOW, flow);
    }
}
