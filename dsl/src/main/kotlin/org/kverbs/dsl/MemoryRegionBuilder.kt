package org.kverbs.dsl

import org.kverbs.attributes.AccessFlag

/** Says what may be done with a memory region. Mutable within its block; nothing of it is kept. */
@RdmaDsl
public class MemoryRegionBuilder internal constructor() {
    private var access: Set<AccessFlag> = setOf(AccessFlag.LOCAL_WRITE)

    /**
     * What the device and peers may do; default [LOCAL_WRITE]. It replaces the default: `access()` alone makes memory
     * that the device may only read.
     */
    public fun access(vararg flags: AccessFlag) {
        access = flags.toSet()
    }

    internal fun build(): Array<AccessFlag> = access.toTypedArray()
}
