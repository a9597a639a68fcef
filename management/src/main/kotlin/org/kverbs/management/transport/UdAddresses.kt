package org.kverbs.management.transport

import org.kverbs.AddressHandle
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AddressAttributes

/**
 * The address handles of a queue pair, by their attributes. It keeps at most [limit] that no request uses; the one that
 * was used longest ago is closed first. Any thread can call.
 */
internal class UdAddresses(
    private val pd: ProtectionDomain,
    private val limit: Int,
) : AutoCloseable {
    private val entries = LinkedHashMap<AddressAttributes, Entry>(16, 0.75f, true)
    private var isClosed = false

    /** An address handle and how many requests use it. */
    class Entry(
        val handle: AddressHandle,
    ) {
        var users = 0
    }

    val size: Int get() = synchronized(entries) { entries.size }

    /** Returns the handle of an address, which stays open until [release]. */
    fun acquire(attributes: AddressAttributes): Entry =
        synchronized(entries) {
            check(!isClosed) { "the transport is closed" }
            val entry = entries.getOrPut(attributes) { Entry(pd.addressHandle(attributes)) }
            entry.users++
            entry
        }

    /** A request has ended. */
    fun release(entry: Entry) {
        synchronized(entries) {
            entry.users--
            val each = entries.values.iterator()
            while (entries.size > limit && each.hasNext()) {
                val eldest = each.next()
                if (eldest.users == 0) {
                    each.remove()
                    eldest.handle.close()
                }
            }
        }
    }

    override fun close() {
        synchronized(entries) {
            isClosed = true
            entries.values.forEach { it.handle.close() }
            entries.clear()
        }
    }
}
