package org.kverbs.samples

import org.kverbs.AccessFlag.LOCAL_WRITE
import org.kverbs.AccessFlag.REMOTE_READ
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RemoteRegion
import org.kverbs.coroutines.rdmaServer
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED
import java.lang.invoke.VarHandle
import java.net.InetSocketAddress

/**
 * A table of keys and values that clients change by messages and read by RDMA, without the server's processor. An entry is 64 bytes: a
 * version, which is odd while the entry changes, the lengths of key and value, and both.
 */
class KeyValueServer {
    private val table = Arena.ofAuto().allocate(ENTRIES * ENTRY, ENTRY)

    /** Serves until it is cancelled. */
    suspend fun serve(
        port: Int,
        device: String? = null,
        onListening: (InetSocketAddress) -> Unit = {},
    ): Nothing =
        rdmaServer(port, device, onListening = onListening) { connection ->
            connection.publish("table", connection.pd.register(table, LOCAL_WRITE, REMOTE_READ)) // until the connection is closed
            for (message in connection.incoming) {
                connection.send(change(message.decodeToString()))
            }
        }

    /** What came may be anything: whatever does not fit is refused before the entry is touched, whose readers wait for the end of a change. */
    private fun change(request: String): ByteArray {
        val (key, value) = request.split('=', limit = 2).map { it.encodeToByteArray() }.takeIf { it.size == 2 } ?: return WRONG
        return when {
            key.isEmpty() || key.size + value.size > ROOM -> WRONG
            put(request.substringBefore('='), key, value) -> OK
            else -> FULL
        }
    }

    private fun put(
        name: String,
        key: ByteArray,
        value: ByteArray,
    ): Boolean =
        synchronized(table) {
            val slot = slots(name).firstOrNull { keyAt(table.asSlice(it, ENTRY).toArray(JAVA_BYTE)) in listOf("", name) } ?: return false
            val entry = table.asSlice(slot, ENTRY)
            val version = entry.get(JAVA_LONG, 0)
            entry.set(JAVA_LONG, 0, version + 1)
            VarHandle.fullFence()
            entry.set(JAVA_BYTE, 8, key.size.toByte())
            entry.set(JAVA_BYTE, 9, value.size.toByte())
            MemorySegment.copy(key + value, 0, entry, JAVA_BYTE, TEXT.toLong(), key.size + value.size)
            VarHandle.fullFence()
            entry.set(JAVA_LONG, 0, version + 2)
            true
        }

    private companion object {
        val OK = "ok".encodeToByteArray()
        val FULL = "full".encodeToByteArray()
        val WRONG = "no KEY=VALUE with a key, and at most $ROOM bytes of both".encodeToByteArray()
    }
}

/**
 * Asks a [KeyValueServer] to change an entry. False if there is no room for another key like this.
 *
 * @param key not empty, and without `=`
 * @param value at most 54 bytes of UTF-8 together with the key
 */
suspend fun MessageConnection.put(
    key: String,
    value: String,
): Boolean {
    require(key.isNotEmpty() && '=' !in key) { "'$key' is no key: it must not be empty, nor contain '='" }
    require((key + value).encodeToByteArray().size <= ROOM) { "'$key' and '$value' are longer than $ROOM bytes of UTF-8 together" }
    send("$key=$value".encodeToByteArray())
    return receive().decodeToString() == "ok"
}

/**
 * Reads a value out of the server's table, `awaitRemote("table")`. Null if there is none.
 *
 * @throws IllegalStateException if the entry never came to rest
 */
suspend fun RemoteRegion.get(key: String): String? {
    for (slot in slots(key)) {
        val entry = stable(slot)
        if (keyAt(entry).isEmpty()) return null
        if (keyAt(entry) == key) return entry.decodeToString(TEXT + entry[8], TEXT + entry[8] + entry[9])
    }
    return null
}

/** Reads an entry until nobody has changed it meanwhile; a change takes no longer than a few reads. */
private suspend fun RemoteRegion.stable(slot: Long): ByteArray {
    repeat(READS) {
        val entry = read(slot, ENTRY.toInt())
        if (entry[0] % 2 == 0 && readLong(slot) == versionOf(entry)) return entry
    }
    error("the entry at byte $slot of the table was being changed at each of $READS reads: look whether its server still runs")
}

private fun versionOf(entry: ByteArray) = MemorySegment.ofArray(entry).get(JAVA_LONG_UNALIGNED, 0)

private fun keyAt(entry: ByteArray) = entry.decodeToString(TEXT, TEXT + entry[8])

/** Where a key may stand: four entries one behind the other. */
private fun slots(key: String): List<Long> = List(4) { Math.floorMod(key.hashCode() + it, ENTRIES.toInt()) * ENTRY }

private const val ENTRIES = 1024L
private const val ENTRY = 64L
private const val TEXT = 10
private const val ROOM = (ENTRY - TEXT).toInt()
private const val READS = 1000
