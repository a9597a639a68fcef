package org.kverbs.samples

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.kverbs.AccessFlag.LOCAL_WRITE
import org.kverbs.AccessFlag.REMOTE_WRITE
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.asByteBuffer
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.io.IOException
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption.REPLACE_EXISTING
import java.nio.file.StandardOpenOption.READ
import java.nio.file.StandardOpenOption.WRITE
import java.util.concurrent.atomic.AtomicLong
import java.util.zip.CRC32C
import kotlin.io.path.deleteIfExists
import kotlin.io.path.name
import kotlin.time.Duration
import kotlin.time.measureTime

// The receiver lends the sender a few slots of its memory. The sender writes a piece of the file into each by RDMA and says so in a
// message; the receiver moves the piece to its file and gives the slot back. So all slots are under way at once, and files may be larger
// than memory.

/** Bytes of a slot. */
internal const val SLOT = 1L shl 20
private const val SLOTS = 8

/** Receives a file from each client and puts it [to] there, once it is whole and has the sender's checksum. Until it is cancelled. */
suspend fun fileServer(
    to: Path,
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
): Nothing =
    rdmaServer(port, device, onListening) { connection ->
        val part = Files.createTempFile(to.toAbsolutePath().parent, to.name, ".part")
        try {
            FileChannel.open(part, WRITE).use { receiveInto(it, connection) }
            val checksum = checksum(part)
            if (connection.receive().decodeToString() == checksum) {
                Files.move(part, to, REPLACE_EXISTING)
                connection.send(WHOLE)
            } else {
                connection.send("arrived with checksum $checksum".encodeToByteArray())
            }
        } finally {
            part.deleteIfExists()
        }
    }

private suspend fun receiveInto(
    file: FileChannel,
    connection: MessageConnection,
) = connection.pd.memoryRegion(SLOTS * SLOT, LOCAL_WRITE, REMOTE_WRITE).use { slots ->
    connection.publish("slots", slots)
    while (true) {
        val (slot, offset, length) = numbers(connection.receive())
        if (length == 0L) break
        withContext(Dispatchers.IO) { file.writeAll(slots.memory().asSlice(slot * SLOT, length).asByteBuffer(), offset) }
        connection.send("$slot".encodeToByteArray())
    }
}

/**
 * Sends a file to a [fileServer], and returns when that has it.
 *
 * @param onProgress told how many bytes have arrived, from any thread
 * @return how long the bytes took, without the comparison of checksums
 * @throws IOException if the file changes meanwhile, or arrives as another one
 */
suspend fun sendFile(
    from: Path,
    host: String,
    port: Int,
    device: String? = null,
    onProgress: (Long) -> Unit = {},
): Duration =
    rdmaClient(host, port, device) { connection ->
        val took = measureTime { FileChannel.open(from, READ).use { sendFrom(it, connection, onProgress) } }
        val checksum = checksum(from)
        connection.send(checksum.encodeToByteArray())
        val verdict = connection.receive()
        if (!verdict.contentEquals(WHOLE)) throw IOException("$from was sent with checksum $checksum, and ${verdict.decodeToString()}")
        took
    }

private suspend fun sendFrom(
    file: FileChannel,
    connection: MessageConnection,
    onProgress: (Long) -> Unit,
) {
    val slots = connection.remote("slots")
    val next = AtomicLong()
    val arrived = AtomicLong()
    val free = List(SLOTS) { Channel<Unit>(1) }
    connection.pd.bufferPool { maxBytes(SLOTS * SLOT) }.use { pool ->
        coroutineScope {
            val answers = launch { for (message in connection.incoming) free[numbers(message)[0].toInt()].send(Unit) }
            val senders =
                free.mapIndexed { slot, gotBack ->
                    launch {
                        pool.take(SLOT).use { buffer ->
                            while (true) {
                                val offset = next.getAndAdd(SLOT)
                                val length = withContext(Dispatchers.IO) { file.readAll(buffer.asByteBuffer(), offset) }
                                if (length == 0L) break
                                slots.write(slot * SLOT, buffer, length)
                                connection.send("$slot $offset $length".encodeToByteArray())
                                gotBack.receive()
                                onProgress(arrived.addAndGet(length))
                            }
                        }
                    }
                }
            senders.forEach { it.join() }
            answers.cancel()
        }
    }
    connection.send("0 0 0".encodeToByteArray())
}

private fun numbers(message: ByteArray): List<Long> = message.decodeToString().split(' ').map { it.toLong() }

private fun FileChannel.writeAll(
    bytes: ByteBuffer,
    offset: Long,
) {
    val begin = bytes.position()
    while (bytes.hasRemaining()) write(bytes, offset + bytes.position() - begin)
}

/** As many bytes as there are and as fit. */
private fun FileChannel.readAll(
    into: ByteBuffer,
    offset: Long,
): Long {
    val begin = into.position()
    while (into.hasRemaining() && read(into, offset + into.position() - begin) >= 0) continue
    return (into.position() - begin).toLong()
}

private suspend fun checksum(file: Path): String =
    withContext(Dispatchers.IO) {
        val crc = CRC32C()
        val buffer = ByteBuffer.allocateDirect(SLOT.toInt())
        FileChannel.open(file, READ).use { while (it.read(buffer.clear()) >= 0) crc.update(buffer.flip()) }
        crc.value.toHexString().takeLast(8)
    }

private val WHOLE = "whole".encodeToByteArray()
