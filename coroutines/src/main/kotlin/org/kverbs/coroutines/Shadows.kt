package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment
import java.util.concurrent.ConcurrentHashMap

/**
 * The memory of regions that are in other domains of the device, registered in [pd] as well: for this side's requests
 * and for windows, and so that no peer reaches it by a key of the region. A region's close ends it. Any thread.
 */
internal class Shadows(
    private val pd: ProtectionDomain,
) {
    private class Shadow(
        val memory: MemorySegment,
        val access: Set<AccessFlag>,
        val region: MemoryRegion,
    ) {
        /** What is closed before the region is. */
        val bound = LinkedHashSet<AutoCloseable>(0)
    }

    private val known = ConcurrentHashMap<MemoryRegion, Shadow>()

    /** The same bytes in this domain. */
    fun of(slice: MemorySlice): MemorySlice {
        val region = slice.region()
        if (region.protectionDomain() === pd) return slice
        return of(region).region.slice(slice.offset(), slice.length(), slice.owner())
    }

    private fun of(region: MemoryRegion): Shadow {
        known[region]?.let { if (it.memory === region.memory() && it.access == region.access()) return it }
        end(region) // it was registered anew, perhaps at other memory
        var made = false
        val shadow =
            known.computeIfAbsent(region) {
                made = true
                val memory = it.memory()
                val access = it.access()
                val local = listOf(AccessFlag.LOCAL_WRITE).filter(access::contains)
                Shadow(memory, access, pd.register(memory, AccessFlag.MW_BIND, *local.toTypedArray()))
            }
        if (made) region.beforeClosed { end(region) } // or else a peer could reach memory that was freed
        return shadow
    }

    /** Closes [window], which is bound to the region's memory, before that leaves this domain, until [forget]. */
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
        synchronized(shadow) { shadow.bound.toList() }.forEach(AutoCloseable::close)
        shadow.region.close()
    }
}
