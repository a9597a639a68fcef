package org.kverbs.acceptance.lab

import org.kverbs.Device
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.pattern
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.Gid
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Arrays
import java.util.HexFormat

private const val FENCE = 1
private const val SIGNALED = 2
private const val INLINE = 8
private const val WITH_IMMEDIATE = 2
private const val QUIET = "0.2"

/** A side that is a program of Pyverbs in another process: `pyverbs/queues.py`. Closing it ends the program. */
internal class PyverbsSide private constructor(
    device: String,
    gidIndex: Int,
) : Side,
    AutoCloseable {
    private val peer = PyverbsProgram("queues", device, gidIndex)
    private var patience = Patience()

    override fun open(
        type: QueuePairType,
        patience: Patience,
        making: Making,
    ): String {
        this.patience = patience
        val ways =
            mapOf(
                "extended" to (making.extended || making.features.isNotEmpty()),
                "shared" to making.shared,
                "events" to making.events,
                "atomic_write" to (Feature.ATOMIC_WRITE in making.features),
            ).filterValues { it }.keys.toTypedArray()
        val (number, psn, gid, mtu) = peer.call("open", type, ConnectOptions.DEFAULT_QKEY, *ways)
        return QueuePairEndpoint(
            0,
            Gid.parse(gid),
            number.toInt(),
            psn.toInt(),
            mtu.toInt(),
            ConnectOptions.DEFAULT_QKEY,
        ).toText()
    }

    override fun connect(endpoint: String) {
        val remote = QueuePairEndpoint.parse(endpoint)
        peer.call(
            "connect",
            remote.queuePairNumber(),
            remote.psn(),
            remote.gid(),
            remote.mtu(),
            patience.timeout,
            patience.retries,
            patience.rnrRetries,
            patience.minRnrTimer,
        )
    }

    override fun closeQueuePair() {
        peer.call("close")
    }

    override fun memory(): String = remote(peer.call("memory"))

    private fun remote(words: List<String>): String {
        val (address, length, key) = words
        return RemoteMemory(address.toLong(), length.toLong(), key.toLong().toInt()).toText()
    }

    override fun fill(
        piece: Piece,
        seed: Int,
    ) = put(piece.offset, pattern(piece.length, seed))

    private fun put(
        offset: Long,
        bytes: ByteArray,
    ) {
        peer.call("put", offset, HexFormat.of().formatHex(bytes))
    }

    override fun mismatch(
        piece: Piece,
        seed: Int,
    ): Long = Arrays.mismatch(read(piece), pattern(piece.length, seed)).toLong()

    override fun read(piece: Piece): ByteArray =
        HexFormat.of().parseHex(peer.call("get", piece.offset, piece.length).firstOrNull().orEmpty())

    override fun long(offset: Long): Long =
        ByteBuffer.wrap(read(Piece(offset, Long.SIZE_BYTES))).order(ByteOrder.nativeOrder()).getLong()

    override fun putLong(
        offset: Long,
        value: Long,
    ) = put(offset, ByteBuffer.allocate(Long.SIZE_BYTES).order(ByteOrder.nativeOrder()).putLong(value).array())

    override fun receive(
        id: Long,
        into: List<Piece>,
    ) {
        peer.call("receive", id, words(into))
    }

    private fun words(pieces: List<Piece>) = pieces.joinToString(",") { "${it.offset}:${it.length}" }.ifEmpty { "-" }

    override fun post(requests: List<Request>) =
        requests.forEach {
            val remote = it.remote?.let(RemoteMemory::parse)
            peer.call(
                "post",
                it.id,
                it.operation,
                words(it.pieces),
                (remote?.address() ?: 0).toULong(),
                (remote?.rkey() ?: 0).toUInt(),
                it.word.toUInt(),
                it.number.toULong(),
                it.swap.toULong(),
                SIGNALED or (if (it.fenced) FENCE else 0) or (if (it.inline) INLINE else 0),
            )
        }

    override fun take(count: Int): List<Done> =
        List(count) { done(peer.call("poll")) ?: error("Pyverbs found $it of $count completions") }

    private fun done(words: List<String>): Done? {
        if (words.isEmpty()) return null
        val numbers = words.map { it.toLong() }
        val (id, status, opcode, bytes, flags) = numbers
        val succeeded = WorkCompletionStatus.of(status.toInt()) == WorkCompletionStatus.SUCCESS
        val immediate = if (succeeded && flags.toInt() and WITH_IMMEDIATE != 0) numbers[5].toInt() else null
        return Done(
            id,
            WorkCompletionStatus.of(status.toInt()),
            WorkCompletionOpcode.of(opcode.toInt()),
            bytes,
            immediate,
            numbers[6].toInt(),
            null,
        )
    }

    override fun takeRest(): List<Done> = generateSequence { done(peer.call("poll", QUIET)) }.toList()

    override fun isIdle(): Boolean = peer.call("poll", QUIET).isEmpty()

    override fun bindWindow(
        piece: Piece,
        type: MemoryWindowType,
    ): String = remote(peer.call("window", piece.offset, piece.length, type))

    override fun join(group: String) = error("the program of Pyverbs joins no group: Pyverbs cannot attach to one")

    override fun startTalk(
        program: String,
        role: String,
        address: String,
        port: Int,
    ) = error("this program of Pyverbs has no connection manager")

    override fun endTalk() = error("this program of Pyverbs has no connection manager")

    override fun kverbs(arguments: List<String>): Pair<Int, String> = error("the program of Pyverbs is not kverbs")

    override fun close() = peer.close()

    companion object {
        private val last = mutableMapOf<String, PyverbsSide>()

        /** Returns the side on a device, shared by all specs, or starts one. */
        fun running(device: String): PyverbsSide =
            last[device]?.takeIf { it.peer.isAlive } ?: start(device).also { last[device] = it }

        private fun start(device: String) =
            PyverbsSide(device, Device.byName(device).open().use { it.defaultGidIndex(PORT) })
    }
}
