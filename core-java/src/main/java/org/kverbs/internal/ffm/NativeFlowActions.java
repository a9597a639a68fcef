package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.FlowActionVerbs;

/** The actions of flow rules of a device of libibverbs. */
record NativeFlowActions(long context, ContextTables tables) implements FlowActionVerbs {

    // man 3 ibv_flow_action_esp: pointer or NULL with errno
    @Override
    public long createEsp(MemorySegment attributes) {
        return tables.make(VerbsContext.CREATE_FLOW_ACTION_ESP, context, attributes.address());
    }

    // man 3 ibv_flow_action_esp: 0 or errno
    @Override
    public int modifyEsp(long action, MemorySegment attributes) {
        return tables.call(VerbsContext.MODIFY_FLOW_ACTION_ESP, action, attributes.address());
    }

    // man 3 ibv_flow_action_esp: 0 or errno
    @Override
    public int destroy(long action) {
        return tables.call(VerbsContext.DESTROY_FLOW_ACTION, action);
    }
}
