package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.shouldBe
import org.kverbs.RemoteMemory
import org.kverbs.acceptance.contract.await
import org.kverbs.acceptance.lab.Operation.COMPARE_AND_SWAP
import org.kverbs.acceptance.lab.Operation.FETCH_AND_ADD
import org.kverbs.acceptance.lab.Operation.SEND
import org.kverbs.acceptance.lab.Operation.SEND_WITH_IMMEDIATE
import org.kverbs.acceptance.lab.Operation.SEND_WITH_INVALIDATE
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.acceptance.lab.Operation.WRITE_WITH_IMMEDIATE
import org.kverbs.attributes.MemoryWindowType.TYPE_2
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import java.io.File
import kotlin.io.path.createTempFile

/** Checks the embedded device's packets with tshark. */
internal class EmbeddedCaptureSpec :
    FunSpec({
        test("should send packets of every kind that tshark decodes and has no complaint about") {
            val file = createTempFile("kverbs", ".pcapng").toFile()
            SoftRoceWire.cutApart { captured(file) { Direction.entries.forEach(::sendEveryKind) } }
            val packets = decoded(file)
            val ours = packets.filter { it.source == SoftRoceWire.THERE }
            withClue(
                "packets of ours that are no InfiniBand to tshark",
            ) { ours.filter { it.opcode == null }.shouldBeEmpty() }
            withClue(
                "what tshark complains about",
            ) { ours.filter { it.malformed || it.severity >= WARNING }.shouldBeEmpty() }
            withClue("opcodes of ours") { ours.mapNotNull { it.opcode }.toSet() shouldContainAll KINDS }
            withClue("packets of Soft-RoCE") { packets.any { it.source == SoftRoceWire.HERE } shouldBe true }
        }
    })

/** PI_WARN of Wireshark; a note or a chat is less. */
private const val WARNING = 0x600000

/**
 * IBA volume 1, table 38: RC sends, writes, reads, their answers, atomics and invalidation; UC sends and writes; UD
 * sends.
 */
private val KINDS: List<Int> = (0x00..0x14) + listOf(0x16, 0x17) + (0x20..0x2b) + listOf(0x64)

/**
 * Every number of pad bytes, payloads that begin like protocols that tshark guesses, and messages of one, two and
 * several packets.
 */
private val SIZES: List<Int> = (0..8) + listOf(20, 31, 64, 100, 8192, 12_288)

/** Protocols that tshark guesses for payloads, mostly short and empty ones, and then finds malformed. */
private val GUESSES: List<String> =
    listOf("smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser", "infiniband.eoib", "infiniband_sdp", "fcoib")
        .flatMap { listOf("--disable-protocol", it) } + listOf("--disable-heuristic", "eth_over_ib")

private fun sendEveryKind(direction: Direction) {
    for (type in listOf(RC, UC)) {
        BothSides.linked(direction, type) {
            for (size in SIZES) {
                listOf(SEND, SEND_WITH_IMMEDIATE, WRITE, WRITE_WITH_IMMEDIATE).forEach { carry(it, size) }
                if (type == RC) read(size)
            }
        }
    }
    BothSides.linked(direction, RC) {
        from.post(listOf(COMPARE_AND_SWAP, FETCH_AND_ADD).map { Request(1, it, listOf(Piece(0, 8)), at(0)) })
        from.take(2)
        for (size in listOf(100, 5000)) {
            to.receive(7, listOf(Piece(TARGET, size)))
            val key = RemoteMemory.parse(to.bindWindow(Piece(TARGET, 10), TYPE_2)).rkey()
            from.post(listOf(Request(1, SEND_WITH_INVALIDATE, listOf(Piece(0, size)), word = key)))
            from.take(1).single().shouldBe(1, SEND_WITH_INVALIDATE)
            to.take(1)
        }
    }
    BothSides.linked(direction, UD) {
        for (size in (0..8) + 900) {
            to.receive(TARGET, listOf(Piece(TARGET, 1000)))
            from.post(listOf(Request(1, SEND, listOf(Piece(0, size)).filter { size > 0 })))
            from.take(1)
            to.take(1)
        }
    }
}

private fun captured(
    file: File,
    block: () -> Unit,
) {
    val capture =
        ProcessBuilder("dumpcap", "-q", "-i", SoftRoceWire.netdev, "-f", "udp port 4791", "-w", file.path)
            .redirectErrorStream(true)
            .redirectOutput(File(file.path + ".log"))
            .start()
    try {
        await("the capture's start") {
            val said = File(file.path + ".log").readText()
            check(capture.isAlive) { "dumpcap: $said" }
            "File:" in said
        }
        block()
        Thread.sleep(500) // dumpcap takes the last packets when its buffer's time is over
    } finally {
        capture.destroy()
        capture.waitFor()
    }
}

private data class Decoded(
    val source: String,
    val opcode: Int?,
    val malformed: Boolean,
    val severity: Int,
    val text: String,
)

private fun decoded(file: File): List<Decoded> {
    val fields =
        listOf(
            "ip.src",
            "infiniband.bth.opcode",
            "_ws.malformed",
            "_ws.expert.severity",
            "_ws.expert.message",
            "_ws.col.Info",
        )
    val options = fields.flatMap { listOf("-e", it) }
    val command = listOf("tshark", "-n", "-r", file.path) + GUESSES + listOf("-T", "fields") + options
    // it warns about running as root
    val process = ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start()
    val lines = process.inputReader().readLines()
    process.waitFor() shouldBe 0
    return lines.map { line ->
        val (source, opcode, malformed, severity, message, info) = line.split('\t')
        val worst = severity.split(',').filter { it.isNotEmpty() }.maxOfOrNull { it.toInt() } ?: 0
        Decoded(source, opcode.ifEmpty { null }?.toInt(), malformed.isNotEmpty(), worst, "$message $info")
    }
}

private operator fun List<String>.component6() = get(5)
