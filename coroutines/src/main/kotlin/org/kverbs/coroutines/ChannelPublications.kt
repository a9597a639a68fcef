package org.kverbs.coroutines

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

    suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory {
        val bytes = name.encodeToByteArray()
        require(bytes.size in 1..RemoteNames.MOST_NAME) {
            "the name of published memory has ${bytes.size} bytes; give 1 to ${RemoteNames.MOST_NAME}"
        }
        require(region.access().any { it in setOf(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC) }) {
            "${region.describe()} allows a peer nothing; register it with REMOTE_READ, REMOTE_WRITE or REMOTE_ATOMIC"
        }
        synchronized(names) {
            require(names.size < RemoteNames.MOST) { "there are ${RemoteNames.MOST} published regions; withdraw one before" }
            require(names.add(name)) { "'$name' is published already; withdraw it before" }
        }
        var sent = false
        try {
            send(ChannelMessage.PUBLISH, region.remote().toBytes() + bytes)
            sent = true
        } finally {
            if (!sent) synchronized(names) { names.remove(name) }
        }
        return PublishedMemory(name, region.remote(), this)
    }

    suspend fun withdraw(name: String) {
        if (synchronized(names) { name !in names }) return
        send(ChannelMessage.WITHDRAW, name.encodeToByteArray())
        synchronized(names) { names.remove(name) }
    }

    private suspend fun send(
        kind: Int,
        body: ByteArray,
    ): Unit = link.outbox.send(kind, body.size) { MemorySegment.copy(body, 0, it, JAVA_BYTE, ChannelMessage.HEADER.toLong(), body.size) }
}
