package org.kverbs.dsl

import org.kverbs.attributes.AccessFlag

/** Builds the access flags of a memory region. Valid only inside its block. */
@RdmaDsl
public class MemoryRegionBuilder internal constructor() {
    private var access: Set<AccessFlag> = setOf(AccessFlag.LOCAL_WRITE)

    /**
     * Sets the rights of the device and of peers. Default: [LOCAL_WRITE]. The call replaces the default: `access()`
     * without flags makes memory that the device may only read.
     */
    public fun access(vararg flags: AccessFlag) {
        access = flags.toSet()
    }

    internal fun build(): Array<AccessFlag> = access.toTypedArray()
}
