package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvMwType;

/**
 * The kind of a memory window: {@code enum ibv_mw_type}.
 */
public enum MemoryWindowType {
    /** {@code IBV_MW_TYPE_1}: a call binds the window, and the device chooses its remote key. */
    TYPE_1(IbvMwType.IBV_MW_TYPE_1),
    /**
     * {@code IBV_MW_TYPE_2}: a work request binds the window. The program chooses the low byte of the remote key, and a
     * peer can invalidate the key.
     */
    TYPE_2(IbvMwType.IBV_MW_TYPE_2),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final MemoryWindowType[] ALL = values();

    private final int code;

    MemoryWindowType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_mw_type} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static MemoryWindowType of(int code) {
        for (MemoryWindowType each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
