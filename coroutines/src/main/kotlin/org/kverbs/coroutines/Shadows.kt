package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment
import java.util.concurrent.ConcurrentHashMap

/**
 * Registers the memory of regions of other domains in [pd] as well, for this side's requests and for memory windows.
 * The new region has no remote access, so that no peer reaches the memory by its key. Closing the original region
 * closes it. Any thread can call.
 */
internal class Shadows(
    private val pd: ProtectionDomain,
) {
    private class Shadow(
        val memory: MemorySegment,
        val access: Set<AccessFlag>,
        val region: MemoryRegion,
    ) {
        /** The windows to close before the region. */
        val bound = LinkedHashSet<AutoCloseable>(0)
    }

    private val known = ConcurrentHashMap<MemoryRegion, Shadow>()

    /** Returns the same bytes in this domain, or null if they are not memory of this process that it can register. */
    fun of(slice: MemorySlice): MemorySlice? {
        val region = slice.region()
        if (region.protectionDomain().sharesMemoryWith(pd)) return slice
        if (!region.hasMemory()) return null
        return of(region).region.slice(slice.offset(), slice.length(), slice.owner())
    }

    private fun of(region: MemoryRegion): Shadow {
        known[region]?.let { if (it.memory === region.memory() && it.access == region.access()) return it }
        end(region) // the region was registered again, perhaps with other memory
        var made = false
        val shadow =
            known.computeIfAbsent(region) {
                made = true
                val memory = it.memory()
                val access = it.access()
                // With ON_DEMAND the pages of a region that pages on demand stay unpinned here, too.
                val local = listOf(AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND).filter(access::contains)
                Shadow(memory, access, pd.register(memory, AccessFlag.MW_BIND, *local.toTypedArray()))
            }
        if (made) region.beforeClosed { end(region) } // otherwise a peer could reach freed memory
        return shadow
    }

    /** Closes [window], which is bound to the region's memory, before the region is closed; ends with [forget]. */
    fun closeWith(
        region: MemoryRegion,
        window: AutoCloseable,
    ) {
        known[region]?.let { synchronized(it) { it.bound.add(window) } }
    }

    fun forget(
        region: MemoryRegion,
        window: AutoCloseable,
    ) {
        known[region]?.let { synchronized(it) { it.bound.remove(window) } }
    }

    private fun end(region: MemoryRegion) {
        val shadow = known.remove(region) ?: return
        closeAll(*synchronized(shadow) { shadow.bound.toTypedArray() }, shadow.region)
    }
}
