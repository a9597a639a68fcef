package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvMwType;

/**
 * The kind of a memory window: {@code enum ibv_mw_type}.
 */
public enum MemoryWindowType {
    /** {@code IBV_MW_TYPE_1}: bound by a call; the device makes the window's remote key. */
    TYPE_1(IbvMwType.IBV_MW_TYPE_1),
    /**
     * {@code IBV_MW_TYPE_2}: bound by a work request; the program makes the low byte of the remote key, and a peer can
     * invalidate it.
     */
    TYPE_2(IbvMwType.IBV_MW_TYPE_2),
    /** No C constant: a value that this release of kverbs has no name for. */
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
