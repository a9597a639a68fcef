package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvAtomicCap;

/** The scope within which a device's atomic operations are atomic: {@code enum ibv_atomic_cap}. */
public enum AtomicCapability {
    /** {@code IBV_ATOMIC_NONE}: the device has no atomic operations. */
    NONE(IbvAtomicCap.IBV_ATOMIC_NONE),
    /**
     * {@code IBV_ATOMIC_HCA}: operations are atomic among those of this device, but not against the CPU or other
     * devices.
     */
    HCA(IbvAtomicCap.IBV_ATOMIC_HCA),
    /** {@code IBV_ATOMIC_GLOB}: operations are atomic against every access to the memory, also by the CPU. */
    GLOB(IbvAtomicCap.IBV_ATOMIC_GLOB),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final AtomicCapability[] ALL = values();

    private final int code;

    AtomicCapability(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_atomic_cap} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static AtomicCapability of(int code) {
        for (AtomicCapability each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
