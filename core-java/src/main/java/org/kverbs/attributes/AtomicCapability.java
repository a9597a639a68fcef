package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvAtomicCap;

/**
 * How far the atomicity of a device's atomic operations reaches: {@code enum ibv_atomic_cap}.
 */
public enum AtomicCapability {
    /** {@code IBV_ATOMIC_NONE}: the device has no atomic operations. */
    NONE(IbvAtomicCap.IBV_ATOMIC_NONE),
    /**
     * {@code IBV_ATOMIC_HCA}: atomic among the operations of this device only, not against the CPU or other devices.
     */
    HCA(IbvAtomicCap.IBV_ATOMIC_HCA),
    /** {@code IBV_ATOMIC_GLOB}: atomic against every access to the memory, the CPU included. */
    GLOB(IbvAtomicCap.IBV_ATOMIC_GLOB),
    /** No C constant: a value that this release of kverbs has no name for. */
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
