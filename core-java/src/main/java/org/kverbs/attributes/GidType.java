package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvGidType;

/**
 * What a GID table entry stands for: {@code enum ibv_gid_type}. Both ends of a RoCE connection must use entries of the
 * same type.
 */
public enum GidType {
    /** {@code IBV_GID_TYPE_IB}: an InfiniBand GID. */
    IB(IbvGidType.IBV_GID_TYPE_IB),
    /** {@code IBV_GID_TYPE_ROCE_V1}: RoCE version 1: Ethernet frames of type 0x8915, not routable. */
    ROCE_V1(IbvGidType.IBV_GID_TYPE_ROCE_V1),
    /** {@code IBV_GID_TYPE_ROCE_V2}: RoCE version 2: UDP packets to port 4791, routable. */
    ROCE_V2(IbvGidType.IBV_GID_TYPE_ROCE_V2),
    /** No C constant: a value that this release of kverbs has no name for. */
    UNKNOWN(-1);

    private static final GidType[] ALL = values();

    private final int code;

    GidType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_gid_type} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static GidType of(int code) {
        for (GidType each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
