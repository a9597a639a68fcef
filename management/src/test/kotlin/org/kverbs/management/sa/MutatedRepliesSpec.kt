package org.kverbs.management.sa

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.delay
import kotlinx.coroutines.test.runTest
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.lid
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SAFormat
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Lid
import java.nio.ByteBuffer
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes

/** `-Dkverbs.fuzz=10000000` sends as many. */
private val replies = Integer.getInteger("kverbs.fuzz", 200_000)
private val longest = (2 + replies / 50_000).minutes
private const val HEADER = 56
private const val DATA = 200
private const val PADDED = 112

/** The records that the honest administrator has. */
private val truth =
    List(20) { index ->
        NodeRecord {
            lid = Lid(index + 1)
            nodeDescription.nodeString = "node $index"
        }
    }

/** Cuts the answer to [request] into packets, by the specification and not by the code under test. */
private fun packets(request: ByteArray): List<ByteArray> {
    val data = ByteArray(truth.size * PADDED)
    truth.forEachIndexed { index, record -> record.bytes().copyInto(data, index * PADDED) }
    val count = (data.size + DATA - 1) / DATA
    return List(count) { index ->
        val mad = request.copyOf()
        SAFormat.at(mad).apply {
            madHeader.method = Method.GET_TABLE_RESP
            attributeOffset = PADDED / 8
        }
        val length = minOf(DATA, data.size - index * DATA)
        data.copyInto(mad, HEADER, index * DATA, index * DATA + length)
        val flags = 1 + (if (index == 0) 2 else 0) + (if (index == count - 1) 4 else 0)
        val payload = if (index == 0) data.size + 20 * count else length + 20
        ByteBuffer.wrap(mad).putInt(24, 0x01010000 or (31 shl 11) or (flags shl 8))
        ByteBuffer.wrap(mad).putInt(28, index + 1).putInt(32, payload)
        mad
    }
}

/** An administrator that answers each request with its packets, between which it sends mutated ones. */
private class Liar(
    private val random: Random,
    private val mutate: (ByteArray, Random) -> ByteArray,
    private val loss: Int,
) : MadTransport {
    private lateinit var receiver: MadReceiver
    var mutated = 0

    override fun port() = MadPort("liar", NodeInfo(), PortInfo { masterSMLID = Lid(2) })

    override fun receive(receiver: MadReceiver) {
        this.receiver = receiver
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        if (MADHeader.at(mad).method != Method.GET_TABLE || mad[26].toInt() and 1 != 0) return
        for (packet in packets(mad)) {
            repeat(3) {
                mutated++
                receiver.received(mutate(packet.copyOf(), random), from())
            }
            if (random.nextInt(loss) != 0) receiver.received(packet, lid(2))
        }
    }

    private fun from(): LidPath = lid(if (random.nextInt(4) == 0) random.nextInt(1, 5) else 2)

    override fun close() = Unit
}

private val edges = listOf(0, 1, 2, 3, 4, 7, 0x7f, 0x80, 0x92, 0xff)

/** Changes anything. */
private fun anything(
    mad: ByteArray,
    random: Random,
): ByteArray {
    repeat(random.nextInt(1, 5)) {
        val at = random.nextInt(if (random.nextBoolean()) 37 else mad.size)
        mad[at] = if (random.nextBoolean()) edges.random(random).toByte() else random.nextInt().toByte()
    }
    return if (random.nextInt(20) == 0) mad.copyOf(random.nextInt(400)) else mad
}

/** Changes anything, and always what a packet must have to belong to the transaction. */
private fun foreign(
    mad: ByteArray,
    random: Random,
): ByteArray {
    val before = mad.copyOf()
    val changed = anything(mad, random)
    val at = random.nextInt(12, 16)
    if (changed.size > at) changed[at] = (before[at] + 1 + random.nextInt(250)).toByte()
    return if (changed.size > at) changed else ByteArray(at)
}

class MutatedRepliesSpec :
    FunSpec({
        test("should end each query with records or an error that says why, whatever replies come") {
            runTest(timeout = longest) {
                val liar = Liar(Random(5), ::anything, loss = 20)
                val context = backgroundScope.coroutineContext
                fabric(liar) {
                    retries(0)
                    context(context)
                    rmpp(RmppSettings(timeout = 50.milliseconds, idle = 500.milliseconds))
                }.use { fabric ->
                    var answered = 0
                    while (liar.mutated < replies / 2) {
                        try {
                            fabric.sa.records<NodeRecord>()
                            answered++
                        } catch (e: MadException) {
                            e.dumpDetailed(2).isNotEmpty() shouldBe true
                        }
                        fabric.counters.outstanding shouldBe 0
                    }
                    answered shouldBeGreaterThan 0
                    fabric.counters[MadEventKind.COMPLETED] shouldBeGreaterThan 0
                }
            }
        }

        test("should take no mutated reply of another transaction for its own, and lose nothing by them") {
            runTest(timeout = longest) {
                val original = Liar(Random(6), ::foreign, loss = Int.MAX_VALUE)
                val context = backgroundScope.coroutineContext
                fabric(original) {
                    retries(0)
                    context(context)
                }.use { fabric ->
                    var queries = 0
                    while (original.mutated < replies / 2) {
                        val records = fabric.sa.records<NodeRecord>()
                        if (queries++ % 100 == 0) records shouldContainExactly truth
                        (records == truth) shouldBe true
                    }
                    delay(1.minutes)
                    val counters = fabric.counters
                    counters[MadEventKind.UNEXPECTED] + counters[MadEventKind.LATE] shouldBeGreaterThan replies / 4L
                }
            }
        }
    })
