package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvFlowAttrType;

/** Which frames a flow rule is for: {@code enum ibv_flow_attr_type}. */
public enum FlowType {
    /** {@code IBV_FLOW_ATTR_NORMAL}: frames that match. */
    NORMAL(IbvFlowAttrType.IBV_FLOW_ATTR_NORMAL),
    /** {@code IBV_FLOW_ATTR_ALL_DEFAULT}: all frames that no other rule takes. */
    ALL_DEFAULT(IbvFlowAttrType.IBV_FLOW_ATTR_ALL_DEFAULT),
    /** {@code IBV_FLOW_ATTR_MC_DEFAULT}: the multicast frames that no other rule takes. */
    MULTICAST_DEFAULT(IbvFlowAttrType.IBV_FLOW_ATTR_MC_DEFAULT),
    /** {@code IBV_FLOW_ATTR_SNIFFER}: copies of all frames of the port. */
    SNIFFER(IbvFlowAttrType.IBV_FLOW_ATTR_SNIFFER);

    private final int code;

    FlowType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_flow_attr_type} gives this constant. */
    public int code() {
        return code;
    }
}
