package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RdmaDsl

/** Configures a [BufferPool]. All sizes are in bytes. Mutable within its block. */
@RdmaDsl
public class BufferPoolBuilder internal constructor() {
    private var maxBytes = 64.MiB
    private var minBufferSize = 256L
    private var maxBufferSize = 1.MiB
    private var slabSize = 1.MiB
    private var access = arrayOf(AccessFlag.LOCAL_WRITE)

    /**
     * Limits the memory that the pool registers; default 64 MiB. The pool registers whole slabs, so it does not use a
     * rest smaller than a slab.
     */
    public fun maxBytes(bytes: Long) {
        maxBytes = bytes
    }

    /** Sets the smallest buffer, a power of two; default 256. A smaller request takes a buffer of this size. */
    public fun minBufferSize(bytes: Long) {
        minBufferSize = powerOfTwo("minBufferSize", bytes)
    }

    /** Sets the largest buffer, a power of two; default 1 MiB. */
    public fun maxBufferSize(bytes: Long) {
        maxBufferSize = powerOfTwo("maxBufferSize", bytes)
    }

    /** Sets the size of a slab, which is one memory region, a power of two; default 1 MiB. */
    public fun slabSize(bytes: Long) {
        slabSize = powerOfTwo("slabSize", bytes)
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
            "$name($bytes) isn't a power of two: give one, such as 4096; slabs are halved into buffers"
        }
        return bytes
    }

    internal fun build(pd: ProtectionDomain): BufferPool {
        require(minBufferSize <= maxBufferSize) {
            "minBufferSize($minBufferSize) is above maxBufferSize($maxBufferSize); lower the first or raise the second"
        }
        require(maxBufferSize <= slabSize) {
            "maxBufferSize($maxBufferSize) is above slabSize($slabSize), from which it would be cut; " +
                "raise slabSize to it"
        }
        require(slabSize <= maxBytes) {
            "slabSize($slabSize) is above maxBytes($maxBytes), so the pool has no room for a slab; lower slabSize or " +
                "raise maxBytes"
        }
        require(maxBytes / slabSize <= Int.MAX_VALUE && slabSize / minBufferSize <= Int.MAX_VALUE) {
            "maxBytes($maxBytes), slabSize($slabSize) and minBufferSize($minBufferSize) make more than 2147483647 " +
                "pieces; raise slabSize or minBufferSize"
        }
        val slabs =
            Slabs(
                (maxBytes / slabSize).toInt(),
                slabSize,
                minBufferSize.countTrailingZeroBits(),
                maxBufferSize.countTrailingZeroBits(),
            ) {
                pd.memoryRegion(slabSize, *access)
            }
        return BufferPool(pd, slabs, maxBufferSize)
    }
}
