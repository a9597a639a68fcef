package org.kverbs.samples

import org.kverbs.AccessFlag.LOCAL_WRITE
import org.kverbs.AccessFlag.REMOTE_READ
import org.kverbs.MemoryRegion
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaNode
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
    private val regions = HashMap<RdmaNode, MemoryRegion>()

    /** Serves until it is cancelled. */
    suspend fun serve(
        port: Int,
        device: String? = null,
        onListening: (InetSocketAddress) -> Unit = {},
    ): Nothing =
        rdmaServer(port, device, onListening) { connection ->
            connection.publish("table", tableOn(connection.node))
            for (message in connection.incoming) {
                val (key, value) = message.decodeToString().split('=', limit = 2)
                connection.send(if (put(key, value)) OK else FULL)
            }
        }

    /** One table for all connections, whichever device they come by; each device knows it until it is closed. */
    private fun tableOn(node: RdmaNode): MemoryRegion =
        synchronized(regions) { regions.getOrPut(node) { node.pd.register(table, LOCAL_WRITE, REMOTE_READ) } }

    private fun put(
        key: String,
        value: String,
    ): Boolean =
        synchronized(table) {
            val slot = slots(key).firstOrNull { keyAt(table.asSlice(it, ENTRY).toArray(JAVA_BYTE)) in listOf("", key) } ?: return false
            val entry = table.asSlice(slot, ENTRY)
            val version = entry.get(JAVA_LONG, 0)
            entry.set(JAVA_LONG, 0, version + 1)
            VarHandle.fullFence()
            entry.set(JAVA_BYTE, 8, key.length.toByte())
            entry.set(JAVA_BYTE, 9, value.length.toByte())
            MemorySegment.copy((key + value).encodeToByteArray(), 0, entry, JAVA_BYTE, TEXT.toLong(), key.length + value.length)
            VarHandle.fullFence()
            entry.set(JAVA_LONG, 0, version + 2)
            true
        }

    private companion object {
        val OK = "ok".encodeToByteArray()
        val FULL = "full".encodeToByteArray()
    }
}

/** Asks a [KeyValueServer] to change an entry. Key and value are at most 54 ASCII characters together. */
suspend fun MessageConnection.put(
    key: String,
    value: String,
): Boolean {
    require((key + value).length <= ENTRY - TEXT) { "'$key=$value' is longer than ${ENTRY - TEXT} characters" }
    send("$key=$value".encodeToByteArray())
    return receive().decodeToString() == "ok"
}

/** Reads a value out of the server's table, `remote("table")`. Null if there is none. */
suspend fun RemoteRegion.get(key: String): String? {
    for (slot in slots(key)) {
        val entry = stable(slot)
        if (keyAt(entry).isEmpty()) return null
        if (keyAt(entry) == key) return entry.decodeToString(TEXT + key.length, TEXT + key.length + entry[9])
    }
    return null
}

/** Reads an entry until nobody has changed it meanwhile. */
private suspend fun RemoteRegion.stable(slot: Long): ByteArray {
    while (true) {
        val entry = read(slot, ENTRY.toInt())
        if (entry[0] % 2 == 0 && readLong(slot) == versionOf(entry)) return entry
    }
}

private fun versionOf(entry: ByteArray) = MemorySegment.ofArray(entry).get(JAVA_LONG_UNALIGNED, 0)

private fun keyAt(entry: ByteArray) = entry.decodeToString(TEXT, TEXT + entry[8])

/** Where a key may stand: four entries one behind the other. */
private fun slots(key: String): List<Long> = List(4) { Math.floorMod(key.hashCode() + it, ENTRIES.toInt()) * ENTRY }

private const val ENTRIES = 1024L
private const val ENTRY = 64L
private const val TEXT = 10
