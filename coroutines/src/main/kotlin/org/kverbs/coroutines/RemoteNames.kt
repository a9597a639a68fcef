package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import org.kverbs.RemoteMemory
import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException

/** Holds the memory that the peer has published, by name. The polling thread changes it. */
internal class RemoteNames {
    private class Known(
        val memories: Map<String, RemoteMemory>,
        val end: Throwable?,
    ) {
        /** Completes when this is replaced. */
        val isOld = CompletableDeferred<Unit>()
    }

    @Volatile
    private var known = Known(emptyMap(), null)

    private inline fun update(next: (Known) -> Known) {
        val old = synchronized(this) { known.also { known = next(it) } }
        old.isOld.wake(Unit)
    }

    /** The names that the peer has published and not withdrawn. */
    val names: Set<String> get() = known.memories.keys

    /** Returns the memory that the peer has published under this name, or null. */
    fun find(name: String): RemoteMemory? = known.memories[name]

    /** Suspends until the peer has published this name; throws the reason if the channel ends before. */
    suspend fun await(name: String): RemoteMemory {
        while (true) {
            val now = known
            now.memories[name]?.let { return it }
            now.end?.let { throw it.calledHere() }
            now.isOld.await()
        }
    }

    /** Takes a message of kind PUBLISH or WITHDRAW. */
    fun arrived(
        kind: Int,
        body: ByteArray,
    ) {
        val bytes = ByteBuffer.wrap(body)
        if (kind == ChannelMessage.WITHDRAW) {
            val name = name(bytes)
            update { Known(it.memories - name, it.end) }
        } else {
            if (bytes.remaining() < RemoteMemory.BYTES) {
                throw ChannelProtocolException("the peer published ${bytes.remaining()} bytes; no memory")
            }
            val address = bytes.getLong()
            val length = bytes.getLong()
            val rkey = bytes.getInt()
            if (length < 0) {
                throw ChannelProtocolException(
                    "the peer published memory of ${java.lang.Long.toUnsignedString(length)} bytes",
                )
            }
            add(name(bytes), RemoteMemory(address, length, rkey))
        }
    }

    private fun add(
        name: String,
        memory: RemoteMemory,
    ) {
        update {
            if (it.memories.size >= MOST) throw ChannelProtocolException("the peer published more than $MOST regions")
            Known(it.memories + (name to memory), it.end)
        }
    }

    private fun name(bytes: ByteBuffer): String {
        if (bytes.remaining() !in
            1..MOST_NAME
        ) {
            throw ChannelProtocolException("the peer published a name of ${bytes.remaining()} bytes")
        }
        try {
            return Charsets.UTF_8.newDecoder().decode(bytes).toString()
        } catch (_: CharacterCodingException) {
            throw ChannelProtocolException("the peer published a name that isn't UTF-8")
        }
    }

    /** Ends the waits, as nothing more will be published. A failure replaces an orderly end as the reason. */
    fun end(cause: Throwable): Unit = update { Known(it.memories, cause) }

    companion object {
        const val MOST = 1024
        const val MOST_NAME = 200
    }
}
