package org.kverbs.samples

import kotlinx.serialization.Serializable
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RemoteRegion
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import org.kverbs.serialization.RequestScope
import org.kverbs.serialization.answerRequests
import org.kverbs.serialization.method
import org.kverbs.serialization.requests
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.invoke.VarHandle
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.concurrent.ConcurrentHashMap

@Serializable
data class Put(
    val key: String,
    val value: String,
)

/** The offset of a key's entry in the table; null if the key has no entry. */
@Serializable
data class Place(
    val offset: Long?,
)

private val put = method<Put, Unit>("put")
private val find = method<String, Place>("find")

/**
 * Serves a table of keys and values. Clients change it with requests, and ask once for the offset of a key's entry.
 * From then on they read the entry by RDMA, without the server's processor. An entry has a version, which is odd while
 * the entry changes, the length of the value, and the value.
 */
class KeyValueServer {
    private val table: MemorySegment = Arena.ofAuto().allocate(ENTRIES * ENTRY, ENTRY)
    private val offsets = HashMap<String, Long>()

    /** Serves until the caller is cancelled. */
    suspend fun serve(
        port: Int,
        device: String? = null,
        onListening: (InetSocketAddress) -> Unit = {},
    ): Nothing =
        rdmaServer(port, device, onListening = onListening) { connection ->
            connection.publish("table", table)
            connection.answerRequests {
                answer(put) { (key, value) -> put(key, value.encodeToByteArray()) }
                answer(find) { key -> Place(synchronized(offsets) { offsets[key] }) }
                onFailure { _, _ -> } // the client gets the failure
            }
        }

    private fun put(
        key: String,
        value: ByteArray,
    ) = synchronized(offsets) {
        require(value.size <= ROOM) { "a value has at most $ROOM bytes, not ${value.size}" }
        check(key in offsets || offsets.size < ENTRIES) { "the table is full" }
        val entry = table.asSlice(offsets.getOrPut(key) { offsets.size * ENTRY }, ENTRY)
        val version = entry.get(JAVA_LONG, 0)
        entry.set(JAVA_LONG, 0, version + 1)
        VarHandle.fullFence()
        entry.set(JAVA_LONG, LENGTH, value.size.toLong())
        MemorySegment.copy(value, 0, entry, JAVA_BYTE, VALUE, value.size)
        VarHandle.fullFence()
        entry.set(JAVA_LONG, 0, version + 2)
    }
}

/** Accesses the table of a [KeyValueServer] from a client. */
class KeyValues(
    private val requests: RequestScope,
    private val table: RemoteRegion,
) {
    private val offsets = ConcurrentHashMap<String, Long>()

    /** Asks the server to set a value of at most 48 bytes. */
    suspend fun put(
        key: String,
        value: String,
    ): Unit = requests.call(put, Put(key, value))

    /** Reads a value by RDMA; null if the key has none. */
    suspend fun get(key: String): String? {
        val offset = offsets[key] ?: requests.call(find, key).offset?.also { offsets[key] = it } ?: return null
        repeat(READS) {
            val entry = ByteBuffer.wrap(table.read(offset, ENTRY)).order(ByteOrder.nativeOrder())
            val version = entry.getLong()
            // Otherwise the server was changing the entry during the read.
            if (version % 2 == 0L && table.readLong(offset) == version) {
                val length = entry.getLong().toInt()
                return entry.array().decodeToString(VALUE.toInt(), VALUE.toInt() + length)
            }
        }
        error("the entry of '$key' was being changed at each of $READS reads: look whether its server still runs")
    }
}

/** Runs [block] with the table of the server at the other end of this connection. */
suspend fun <R> MessageConnection.keyValues(block: suspend KeyValues.() -> R): R =
    requests { KeyValues(this, awaitRemote("table")).block() }

private const val ENTRIES = 1024L
private const val ENTRY = 64L
private const val LENGTH = 8L
private const val VALUE = 16L
private const val ROOM = ENTRY - VALUE
private const val READS = 1000

/**
 * Puts an entry into the table with a request, and reads it by RDMA, on the device that the argument names or on the
 * first one.
 */
fun main(args: Array<String>) =
    both(
        args.firstOrNull(),
        server = { name, onListening -> KeyValueServer().serve(0, name, onListening) },
    ) { host, port, name ->
        rdmaClient(host, port, name) { connection ->
            connection.keyValues {
                put("answer", "42")
                println("$name: answer = ${get("answer")}, question = ${get("question")}")
            }
        }
    }
