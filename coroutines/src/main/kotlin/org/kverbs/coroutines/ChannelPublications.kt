package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** Holds the memory that this side has published. */
internal class ChannelPublications(
    private val link: ChannelLink,
) {
    private val names = HashSet<String>()

    /**
     * Registers memory with [register], runs [fill], and publishes it; the memory stays registered until it is
     * withdrawn.
     */
    suspend fun publish(
        name: String,
        access: Array<out AccessFlag>,
        fill: MemorySegment.() -> Unit = {},
        register: ChannelMemory.(Set<AccessFlag>) -> MemoryRegion,
    ): PublishedMemory {
        val rights = if (access.isEmpty()) setOf(REMOTE_READ) else access.toSet()
        val region = link.memory.register(rights)
        var isFilled = false
        try {
            region.memory().fill()
            isFilled = true
        } finally {
            if (!isFilled) link.memory.giveBack(region)
        }
        return publish(name, region, rights) { link.memory.giveBack(region) }
    }

    suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory = publish(name, region, region.access()) {}

    /** Calls [giveBack] if this throws, as soon as the device no longer uses the region. */
    private suspend fun publish(
        name: String,
        region: MemoryRegion,
        access: Set<AccessFlag>,
        giveBack: () -> Unit,
    ): PublishedMemory {
        val bytes = name.encodeToByteArray()
        val rights = access.filter { it in setOf(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC) }
        val local =
            try {
                publishable(region, rights).also { take(name, bytes.size) }
            } catch (e: Throwable) {
                giveBack()
                throw e
            }
        var admission: ChannelAdmission? = null
        var sent = false
        try {
            admission = link.admit(region, local, rights, giveBack)
            send(ChannelMessage.PUBLISH, admission.remote.toBytes() + bytes)
            sent = true
            return PublishedMemory(name, region, admission, this)
        } finally {
            if (!sent) {
                synchronized(names) { names.remove(name) }
                admission?.let {
                    it.close()
                    giveBack()
                }
            }
        }
    }

    private fun publishable(
        region: MemoryRegion,
        rights: List<AccessFlag>,
    ): MemorySlice {
        require(rights.isNotEmpty()) {
            "${region.describe()} gives a peer no access; register it with REMOTE_READ, REMOTE_WRITE or REMOTE_ATOMIC"
        }
        return requireNotNull(link.memory.local(region.slice())) {
            if (region.hasMemory()) foreign(region) else memoryless(region)
        }
    }

    private fun foreign(region: MemoryRegion) =
        "${region.describe()} belongs to another protection domain than the channel, so that the peer cannot reach " +
            "it; publish the memory itself, or register it in the connection's domain"

    private fun memoryless(region: MemoryRegion) =
        "the ${region.describe()} has no memory of this process, and the channel cannot register it in its own " +
            "domain; publish memory, or take a channel with a slotSize above the shared 4 KiB and make the region in " +
            "its domain"

    private fun take(
        name: String,
        length: Int,
    ) {
        require(length in 1..RemoteNames.MOST_NAME) {
            "the name of published memory has $length bytes; give 1 to ${RemoteNames.MOST_NAME}"
        }
        synchronized(names) {
            require(names.size < RemoteNames.MOST) {
                "there are ${RemoteNames.MOST} published regions; withdraw one before"
            }
            require(names.add(name)) { "'$name' is published already; withdraw it before, or choose another name" }
        }
    }

    suspend fun withdraw(published: PublishedMemory) {
        if (!published.isWithdrawn.compareAndSet(false, true)) return
        var sent = false
        try {
            send(ChannelMessage.WITHDRAW, published.name.encodeToByteArray())
            sent = true
        } finally {
            if (!sent) published.isWithdrawn.set(false)
        }
        synchronized(names) { names.remove(published.name) }
        published.admission.close()
        link.memory.giveBack(published.region)
    }

    private suspend fun send(
        kind: Int,
        body: ByteArray,
    ): Unit =
        link.outbox.send(kind, body.size) {
            MemorySegment.copy(body, 0, it, JAVA_BYTE, ChannelMessage.HEADER.toLong(), body.size)
        }
}
