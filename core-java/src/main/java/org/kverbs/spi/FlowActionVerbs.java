package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/** The actions of flow rules that decrypt and encrypt. A provider that implements no method has none. */
public interface FlowActionVerbs {

    /** The verbs of a device without such actions. */
    FlowActionVerbs NONE = new FlowActionVerbs() {};

    /**
     * Makes an action, {@code struct ibv_flow_action}, by {@code struct ibv_flow_action_esp_attr} ({@code
     * ibv_create_flow_action_esp}).
     */
    default long createEsp(MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Changes an action ({@code ibv_modify_flow_action_esp}). */
    default int modifyEsp(long action, MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys an action, which no rule uses ({@code ibv_destroy_flow_action}). */
    default int destroy(long action) {
        return -Errno.EOPNOTSUPP;
    }
}
