package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RdmaDsl

/** Configures a [BufferPool]. All sizes are in bytes. Mutable within its block. */
@RdmaDsl
public class BufferPoolBuilder internal constructor() {
    private var maxBytes = 64.MiB
    private var minBuffer = 256L
    private var maxBuffer = 1.MiB
    private var slab = 1.MiB
    private var access = arrayOf(AccessFlag.LOCAL_WRITE)

    /**
     * Limits the memory that the pool registers; default 64 MiB. The pool registers whole slabs, so it does not use a
     * rest smaller than a slab.
     */
    public fun maxBytes(bytes: Long) {
        maxBytes = bytes
    }

    /** Sets the smallest buffer, a power of two; default 256. A smaller request takes a buffer of this size. */
    public fun minBuffer(bytes: Long) {
        minBuffer = powerOfTwo("minBuffer", bytes)
    }

    /** Sets the largest buffer, a power of two; default 1 MiB. */
    public fun maxBuffer(bytes: Long) {
        maxBuffer = powerOfTwo("maxBuffer", bytes)
    }

    /** Sets the size of a slab, which is one memory region, a power of two; default 1 MiB. */
    public fun slab(bytes: Long) {
        slab = powerOfTwo("slab", bytes)
    }

    /** Sets the access that the device and peers have to the memory; replaces the default LOCAL_WRITE. */
    public fun access(vararg flags: AccessFlag) {
        access = arrayOf(*flags)
    }

    private fun powerOfTwo(
        name: String,
        bytes: Long,
    ): Long {
        require(bytes > 0 && bytes.countOneBits() == 1) {
            "$name($bytes) isn't a power of two; buffers are cut by halves from a slab"
        }
        return bytes
    }

    internal fun build(pd: ProtectionDomain): BufferPool {
        require(minBuffer <= maxBuffer) {
            "minBuffer($minBuffer) is above maxBuffer($maxBuffer); lower the first or raise the second"
        }
        require(maxBuffer <= slab) {
            "maxBuffer($maxBuffer) is above slab($slab), from which it would be cut; raise slab to it"
        }
        require(slab <= maxBytes) {
            "slab($slab) is above maxBytes($maxBytes), so there could be none; lower slab or raise maxBytes"
        }
        require(maxBytes / slab <= Int.MAX_VALUE && slab / minBuffer <= Int.MAX_VALUE) {
            "maxBytes($maxBytes), slab($slab) and minBuffer($minBuffer) make more than 2147483647 pieces; raise slab " +
                "or minBuffer"
        }
        val slabs =
            Slabs(
                (maxBytes / slab).toInt(),
                slab,
                minBuffer.countTrailingZeroBits(),
                maxBuffer.countTrailingZeroBits(),
            ) {
                pd.memoryRegion(slab, *access)
            }
        return BufferPool(pd, slabs, maxBuffer)
    }
}
