package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/** Flow rules. A provider that implements no method has none. */
public interface FlowVerbs {

    /** The verbs of a device without flow rules. */
    FlowVerbs NONE = new FlowVerbs() {};

    /**
     * Makes a flow rule, {@code struct ibv_flow}, by {@code struct ibv_flow_attr} and the structures that follow it
     * ({@code ibv_create_flow}).
     */
    default long createFlow(long qp, MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys a flow rule ({@code ibv_destroy_flow}). */
    default int destroyFlow(long flow) {
        return -Errno.EOPNOTSUPP;
    }
}
