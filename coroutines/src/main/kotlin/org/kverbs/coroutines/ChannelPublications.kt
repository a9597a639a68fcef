package org.kverbs.coroutines

import org.kverbs.AccessFlag
import org.kverbs.AccessFlag.REMOTE_ATOMIC
import org.kverbs.AccessFlag.REMOTE_READ
import org.kverbs.AccessFlag.REMOTE_WRITE
import org.kverbs.MemoryRegion
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** What this side has published. */
internal class ChannelPublications(
    private val link: ChannelLink,
) {
    private val names = HashSet<String>()

    /** Publishes memory that [register] registers, for as long as it is published, after [fill]. */
    suspend fun publish(
        name: String,
        access: Array<out AccessFlag>,
        fill: MemorySegment.() -> Unit = {},
        register: ChannelMemory.(Set<AccessFlag>) -> MemoryRegion,
    ): PublishedMemory {
        val rights = if (access.isEmpty()) setOf(REMOTE_READ) else access.toSet()
        val region = link.memory.register(rights)
        var published = false
        try {
            region.memory().fill()
            return publish(name, region, rights).also { published = true }
        } finally {
            if (!published) link.memory.giveBack(region)
        }
    }

    suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory = publish(name, region, region.access())

    private suspend fun publish(
        name: String,
        region: MemoryRegion,
        access: Set<AccessFlag>,
    ): PublishedMemory {
        val bytes = name.encodeToByteArray()
        require(bytes.size in 1..RemoteNames.MOST_NAME) {
            "the name of published memory has ${bytes.size} bytes; give 1 to ${RemoteNames.MOST_NAME}"
        }
        val rights = access.filter { it in setOf(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC) }
        require(rights.isNotEmpty()) {
            "${region.describe()} allows a peer nothing; register it with REMOTE_READ, REMOTE_WRITE or REMOTE_ATOMIC"
        }
        val local =
            requireNotNull(link.memory.local(region.slice())) {
                "${region.describe()} belongs to another protection domain than the channel, so that the peer cannot" +
                    " reach it; publish the memory itself, or register it in the connection's domain"
            }
        synchronized(names) {
            require(names.size < RemoteNames.MOST) { "there are ${RemoteNames.MOST} published regions; withdraw one before" }
            require(names.add(name)) { "'$name' is published already; withdraw it before" }
        }
        var admission: ChannelAdmission? = null
        var sent = false
        try {
            admission = link.admit(local, rights)
            link.memory.closeWith(region, admission)
            send(ChannelMessage.PUBLISH, admission.remote.toBytes() + bytes)
            sent = true
            return PublishedMemory(name, region, admission, this)
        } finally {
            if (!sent) {
                admission?.let { end(region, it) }
                synchronized(names) { names.remove(name) }
            }
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
        end(published.region, published.admission)
        link.memory.giveBack(published.region)
    }

    private fun end(
        region: MemoryRegion,
        admission: ChannelAdmission,
    ) {
        admission.close()
        link.memory.forget(region, admission)
    }

    private suspend fun send(
        kind: Int,
        body: ByteArray,
    ): Unit = link.outbox.send(kind, body.size) { MemorySegment.copy(body, 0, it, JAVA_BYTE, ChannelMessage.HEADER.toLong(), body.size) }
}
