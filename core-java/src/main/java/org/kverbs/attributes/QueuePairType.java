package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvQpType;

/**
 * The transport service of a queue pair: {@code enum ibv_qp_type}.
 */
public enum QueuePairType {
    /** {@code IBV_QPT_RC}: reliable connection. It has every operation, in order and acknowledged. */
    RC(IbvQpType.IBV_QPT_RC),
    /** {@code IBV_QPT_UC}: unreliable connection. It has send and RDMA write, in order but not acknowledged. */
    UC(IbvQpType.IBV_QPT_UC),
    /** {@code IBV_QPT_UD}: unreliable datagram. It has only send, one packet a message, to any number of peers. */
    UD(IbvQpType.IBV_QPT_UD),
    /** {@code IBV_QPT_RAW_PACKET}: raw Ethernet frames. */
    RAW_PACKET(IbvQpType.IBV_QPT_RAW_PACKET),
    /** {@code IBV_QPT_XRC_SEND}: the sending half of an extended reliable connection. */
    XRC_SEND(IbvQpType.IBV_QPT_XRC_SEND),
    /** {@code IBV_QPT_XRC_RECV}: the receiving half of an extended reliable connection. */
    XRC_RECV(IbvQpType.IBV_QPT_XRC_RECV),
    /** {@code IBV_QPT_DRIVER}: a provider's own type, such as mlx5's DC or EFA's SRD. */
    DRIVER(IbvQpType.IBV_QPT_DRIVER),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final QueuePairType[] ALL = values();

    private final int code;

    QueuePairType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_qp_type} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /**
     * Returns whether a mask of queue pair types has this one ({@code ibv_is_qpt_supported}), such as {@code
     * DeviceAttributesEx.packetPacing().queuePairTypes()}.
     */
    public boolean isIn(int mask) {
        return code >= 0 && code < Integer.SIZE && (mask & 1 << code) != 0;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static QueuePairType of(int code) {
        for (QueuePairType each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
