package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvMtu;

/**
 * The largest payload of one packet on a path: {@code enum ibv_mtu}. {@link #bytes()} is the size; {@link #code()} is
 * not.
 */
public enum Mtu {
    /** {@code IBV_MTU_256}: 256 bytes. */
    MTU_256(IbvMtu.IBV_MTU_256),
    /** {@code IBV_MTU_512}: 512 bytes. */
    MTU_512(IbvMtu.IBV_MTU_512),
    /** {@code IBV_MTU_1024}: 1024 bytes. */
    MTU_1024(IbvMtu.IBV_MTU_1024),
    /** {@code IBV_MTU_2048}: 2048 bytes. */
    MTU_2048(IbvMtu.IBV_MTU_2048),
    /** {@code IBV_MTU_4096}: 4096 bytes. */
    MTU_4096(IbvMtu.IBV_MTU_4096),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final Mtu[] ALL = values();

    private final int code;

    Mtu(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_mtu} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the payload in bytes; 0 for {@link #UNKNOWN}. */
    public int bytes() {
        return this == UNKNOWN ? 0 : 128 << code;
    }

    /**
     * Returns the constant for a payload of {@code bytes} bytes.
     *
     * @throws IllegalArgumentException if {@code bytes} is not one of 256, 512, 1024, 2048 and 4096
     */
    public static Mtu ofBytes(int bytes) {
        for (Mtu each : ALL) {
            if (each != UNKNOWN && each.bytes() == bytes) {
                return each;
            }
        }
        throw new IllegalArgumentException("an MTU of " + bytes + " bytes does not exist: use 256, 512, 1024, 2048 or "
                + "4096");
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static Mtu of(int code) {
        for (Mtu each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
