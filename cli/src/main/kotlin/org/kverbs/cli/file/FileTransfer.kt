package org.kverbs.cli.file

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.kverbs.MemoryRegion
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.asByteBuffer
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.io.IOException
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.Path
import java.nio.file.StandardOpenOption.READ
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.atomic.AtomicLong
import java.util.zip.CRC32C
import kotlin.io.path.getPosixFilePermissions
import kotlin.io.path.isRegularFile
import kotlin.time.Duration
import kotlin.time.measureTime

// The receiver lends the sender a few slots of its memory. The sender writes a piece of the file into each by RDMA and
// says so in a message; the receiver moves the piece to its file and gives the slot back. So all slots are under way at
// once, and files may be larger than memory.

/** Bytes of a slot. */
internal const val SLOT = 1L shl 20
private const val SLOTS = 8

/**
 * Receives a file from each client and puts it [to] there, once it is whole and has the sender's checksum. Until it is
 * cancelled.
 *
 * As `cp` does, it follows a link, and gives a new file the mode of the sender's file, less the umask. An existing file
 * keeps its mode and its hard links. Anything else than a regular file, such as a device node or a FIFO, is refused and
 * stays untouched.
 *
 * @param onFailure told why a file did not arrive, as its sender is
 */
suspend fun fileServer(
    to: Path,
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
    onFailure: (Throwable) -> Unit = { System.err.println("a file did not arrive: ${it.message}") },
): Nothing = rdmaServer(port, device, { onFailure(onFailure) }, onListening) { receive(to, it) }

private suspend fun receive(
    to: Path,
    connection: MessageConnection,
) = connection.pd.memoryRegion(SLOTS * SLOT, LOCAL_WRITE, REMOTE_WRITE).use { slots ->
    connection.publish("slots", slots)
    val failure =
        try {
            connection.send(keep(to, connection, slots))
            null
        } catch (e: IOException) {
            e.also { connection.send("$FAILED${reason(e)}".encodeToByteArray()) }
        }
    for (message in connection.incoming) continue // the sender writes into the slots until it has heard
    failure?.let { throw it }
}

/** The answer to the sender, which names the mode of its file first. */
private suspend fun keep(
    to: Path,
    connection: MessageConnection,
    slots: MemoryRegion,
): ByteArray {
    val target = TargetFile(to)
    val mode = PosixFilePermissions.fromString(connection.receive().decodeToString())
    var answer = WHOLE
    target.write(mode) { file ->
        receiveInto(file, connection, slots)
        val checksum = checksum(file)
        val agrees = connection.receive().decodeToString() == checksum
        if (!agrees) answer = "arrived with checksum $checksum".encodeToByteArray()
        agrees
    }
    return answer
}

private suspend fun receiveInto(
    file: FileChannel,
    connection: MessageConnection,
    slots: MemoryRegion,
) {
    while (true) {
        val (slot, offset, length) = numbers(connection.receive())
        if (length == 0L) break
        withContext(
            Dispatchers.IO,
        ) { file.writeAll(slots.memory().asSlice(slot * SLOT, length).asByteBuffer(), offset) }
        connection.send("$slot".encodeToByteArray())
    }
}

/**
 * Sends a file to a [fileServer], and returns when that has it.
 *
 * @param onProgress told how many bytes have arrived, from any thread
 * @return how long the bytes took, without the comparison of checksums
 * @throws IOException if the file changes meanwhile, or arrives as another one, or if the server can't keep it; says
 *     why
 */
suspend fun sendFile(
    from: Path,
    host: String,
    port: Int,
    device: String? = null,
    onProgress: (Long) -> Unit = {},
): Duration =
    rdmaClient(host, port, device) { connection ->
        try {
            Result.success(send(from, connection, onProgress))
        } catch (e: IOException) {
            Result.failure(e) // both sides know, and part in peace
        }
    }.getOrThrow()

private suspend fun send(
    from: Path,
    connection: MessageConnection,
    onProgress: (Long) -> Unit,
): Duration {
    if (!from.isRegularFile()) throw IOException("$from is no regular file")
    connection.send(PosixFilePermissions.toString(from.getPosixFilePermissions()).encodeToByteArray())
    val took = measureTime { FileChannel.open(from, READ).use { sendFrom(it, connection, onProgress) } }
    val checksum = FileChannel.open(from, READ).use { checksum(it) }
    connection.send(checksum.encodeToByteArray())
    val verdict = connection.receive()
    if (verdict.contentEquals(WHOLE)) return took
    throw refusal(verdict) ?: IOException("$from was sent with checksum $checksum, and ${verdict.decodeToString()}")
}

/** The server's reason not to go on, if this is it. */
private fun refusal(message: ByteArray): IOException? =
    message
        .decodeToString()
        .takeIf {
            it.startsWith(FAILED)
        }?.let { IOException("the receiver: ${it.removePrefix(FAILED)}") }

private suspend fun sendFrom(
    file: FileChannel,
    connection: MessageConnection,
    onProgress: (Long) -> Unit,
) {
    val slots = connection.awaitRemote("slots")
    val next = AtomicLong()
    val arrived = AtomicLong()
    val free = List(SLOTS) { Channel<Unit>(1) }
    connection.pd.bufferPool { maxBytes(SLOTS * SLOT) }.use { pool ->
        coroutineScope {
            val answers =
                launch {
                    for (message in connection.incoming) {
                        refusal(message)?.let { throw it }
                        free[numbers(message)[0].toInt()].send(Unit)
                    }
                }
            val senders =
                free.mapIndexed { slot, gotBack ->
                    launch {
                        pool.take(SLOT).use { buffer ->
                            while (true) {
                                val offset = next.getAndAdd(SLOT)
                                val length = withContext(Dispatchers.IO) { file.readAll(buffer.asByteBuffer(), offset) }
                                if (length == 0L) break
                                slots.write(buffer, slot * SLOT, length)
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

/** Of all its bytes. */
private suspend fun checksum(file: FileChannel): String =
    withContext(Dispatchers.IO) {
        val crc = CRC32C()
        val buffer = ByteBuffer.allocateDirect(SLOT.toInt())
        file.position(0)
        while (file.read(buffer.clear()) >= 0) crc.update(buffer.flip())
        crc.value.toHexString().takeLast(8)
    }

private val WHOLE = "whole".encodeToByteArray()
private const val FAILED = "failed: "
