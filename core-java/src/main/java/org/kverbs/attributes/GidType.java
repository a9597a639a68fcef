package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvGidType;

/**
 * The type of an entry of a GID table: {@code enum ibv_gid_type}. Both ends of a RoCE connection must use entries of
 * the same type.
 */
public enum GidType {
    /** {@code IBV_GID_TYPE_IB}: an InfiniBand GID. */
    IB(IbvGidType.IBV_GID_TYPE_IB),
    /** {@code IBV_GID_TYPE_ROCE_V1}: RoCE version 1, in Ethernet frames of type 0x8915; not routable. */
    ROCE_V1(IbvGidType.IBV_GID_TYPE_ROCE_V1),
    /** {@code IBV_GID_TYPE_ROCE_V2}: RoCE version 2, in UDP packets to port 4791; routable. */
    ROCE_V2(IbvGidType.IBV_GID_TYPE_ROCE_V2),
    /** A value that this release of kverbs has no name for. C has no such constant. */
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
