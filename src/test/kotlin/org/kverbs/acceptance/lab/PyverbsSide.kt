package org.kverbs.acceptance.lab

import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.acceptance.contract.pattern
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.file.Path
import java.util.Arrays
import java.util.HexFormat
import kotlin.io.path.div

private const val SIGNALED = 2
private const val FENCE = 1
private const val WITH_IMMEDIATE = 2
private const val QUIET = "0.2"

/**
 * A side that is a program of Pyverbs in another process: `pyverbs-peer.py`. Closing it ends the program.
 *
 * @property sharesReceives whether its queue pairs take their receives from a shared receive queue
 */
internal class PyverbsSide(
    device: String,
    gidIndex: Int,
    private val sharesReceives: Boolean = false,
) : Side,
    AutoCloseable {
    private val script = Path.of(System.getProperty("kverbs.root")) / "src/test/resources/pyverbs-peer.py"
    private val process =
        ProcessBuilder("/usr/bin/python3", "$script", device, "$gidIndex")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start()
    private val input = process.outputWriter()
    private val output = process.inputReader()

    private fun call(vararg words: Any): List<String> {
        input.write(words.joinToString(" ", postfix = "\n"))
        input.flush()
        val answer = output.readLine() ?: error("the program of Pyverbs ended at '${words.first()}'")
        check(answer == "ok" || answer.startsWith("ok ")) { "Pyverbs, at '${words.joinToString(" ")}': $answer" }
        return answer.split(' ').drop(1)
    }

    override fun open(
        type: QueuePairType,
        patience: Patience,
    ): String {
        val (number, psn, gid, mtu) = call("open", type, sharesReceives, ConnectOptions.DEFAULT_QKEY)
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
        call("connect", remote.queuePairNumber(), remote.psn(), remote.gid(), remote.mtu())
    }

    override fun closeQueuePair() {
        call("close")
    }

    override fun memory(): String = remote(call("memory"))

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
        call("put", offset, HexFormat.of().formatHex(bytes))
    }

    override fun mismatch(
        piece: Piece,
        seed: Int,
    ): Long {
        val expected = pattern(piece.length, seed)
        return Arrays
            .mismatch(read(piece), expected)
            .toLong()
    }

    override fun read(piece: Piece): ByteArray =
        HexFormat.of().parseHex(call("get", piece.offset, piece.length).firstOrNull().orEmpty())

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
        call("receive", id, words(into))
    }

    private fun words(pieces: List<Piece>) =
        pieces.joinToString(",") { "${it.offset}:${it.length}" }.ifEmpty { "-" }

    override fun post(requests: List<Request>) =
        requests.forEach {
            val remote = it.remote?.let(RemoteMemory::parse)
            call(
                "post",
                it.id,
                it.operation,
                words(it.pieces),
                remote?.address() ?: 0,
                (remote?.rkey() ?: 0).toUInt(),
                it.word.toUInt(),
                it.number.toULong(),
                it.swap.toULong(),
                SIGNALED or if (it.fenced) FENCE else 0,
            )
        }

    override fun take(count: Int): List<Done> =
        List(count) { done(call("poll")) ?: error("Pyverbs found $it of $count completions") }

    private fun done(words: List<String>): Done? {
        if (words.isEmpty()) return null
        val numbers = words.map { it.toLong() }
        val (id, status, opcode, bytes, flags) = numbers
        val immediate = if (flags.toInt() and WITH_IMMEDIATE != 0) numbers[5].toInt() else null
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

    override fun takeRest(): List<Done> = generateSequence { done(call("poll", QUIET)) }.toList()

    override fun isIdle(): Boolean = call("poll", QUIET).isEmpty()

    override fun bindWindow(piece: Piece): String = remote(call("window", piece.offset, piece.length))

    override fun join(group: String) = error("the program of Pyverbs joins no group: Pyverbs cannot attach to one")

    override fun startTalk(
        program: String,
        role: String,
        address: String,
        port: Int,
    ) = error("the program of Pyverbs has no connection manager")

    override fun endTalk() = error("the program of Pyverbs has no connection manager")

    override fun kverbs(arguments: List<String>): Pair<Int, String> = error("the program of Pyverbs is not kverbs")

    override fun close() {
        input.close()
        process.destroy()
        process.waitFor()
    }
}
