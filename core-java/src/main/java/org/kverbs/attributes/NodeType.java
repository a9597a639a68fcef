package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvNodeType;

/**
 * The kind of node that a device is: {@code enum ibv_node_type}. The kernel gives it in {@code node_type} of the
 * device.
 */
public enum NodeType {
    /** {@code IBV_NODE_CA}: a channel adapter, InfiniBand or RoCE. */
    CA(IbvNodeType.IBV_NODE_CA),
    /** {@code IBV_NODE_SWITCH}: an InfiniBand switch. */
    SWITCH(IbvNodeType.IBV_NODE_SWITCH),
    /** {@code IBV_NODE_ROUTER}: an InfiniBand router. */
    ROUTER(IbvNodeType.IBV_NODE_ROUTER),
    /** {@code IBV_NODE_RNIC}: an iWARP network interface. */
    RNIC(IbvNodeType.IBV_NODE_RNIC),
    /** {@code IBV_NODE_USNIC}: a Cisco usNIC with its own transport. */
    USNIC(IbvNodeType.IBV_NODE_USNIC),
    /** {@code IBV_NODE_USNIC_UDP}: a Cisco usNIC over UDP. */
    USNIC_UDP(IbvNodeType.IBV_NODE_USNIC_UDP),
    /** {@code IBV_NODE_UNSPECIFIED}: a device of another kind, such as EFA. */
    UNSPECIFIED(IbvNodeType.IBV_NODE_UNSPECIFIED),
    /** {@code IBV_NODE_UNKNOWN}: a kind for which the library or this release of kverbs has no name. */
    UNKNOWN(-1);

    private static final NodeType[] ALL = values();

    private final int code;

    NodeType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_node_type} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static NodeType of(int code) {
        for (NodeType each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
