package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.BAD_RESP_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_REQUEST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_MIDDLE
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import java.time.Duration

private const val MTU = 256
private const val REMOTE_ACCESS = 0x62
private const val NAK_SEQUENCE = 0x60

private const val FIRST = RC_READ_RESPONSE_FIRST
private const val MIDDLE = RC_READ_RESPONSE_MIDDLE
private const val LAST = RC_READ_RESPONSE_LAST
private const val ONLY = RC_READ_RESPONSE_ONLY

/** Checks the order of responses to reads, and reads that are requested again. */
class ResponseOrderSpec :
    FunSpec({
        /**
         * Returns the status of a read of this many packets after responses with these opcodes; null while it has none.
         */
        fun outcome(
            packets: Int,
            vararg opcodes: Int,
        ) = PeerBench().use { bench ->
            bench.read(packets)
            opcodes.forEachIndexed { psn, opcode -> bench.arrive(opcode, psn) { payloadLength = MTU } }
            bench.poll().firstOrNull()?.status()
        }

        test("should take responses that begin, continue and end where the request does") {
            outcome(1, ONLY) shouldBe SUCCESS
            outcome(2, FIRST, LAST) shouldBe SUCCESS
            outcome(4, FIRST, MIDDLE, MIDDLE, LAST) shouldBe SUCCESS
        }

        test("should fail a read whose responses have opcodes out of order") {
            val wrong =
                listOf(
                    1 to listOf(FIRST),
                    1 to listOf(MIDDLE),
                    1 to listOf(LAST),
                    1 to listOf(RC_ATOMIC_ACK),
                    3 to listOf(ONLY),
                    3 to listOf(MIDDLE),
                    3 to listOf(LAST),
                    3 to listOf(FIRST, FIRST),
                    3 to listOf(FIRST, ONLY),
                    3 to listOf(FIRST, LAST),
                    3 to listOf(FIRST, RC_ATOMIC_ACK),
                    3 to listOf(FIRST, MIDDLE, MIDDLE),
                    3 to listOf(FIRST, MIDDLE, ONLY),
                )
            wrong.forEach { (packets, opcodes) ->
                withClue("$packets packets, opcodes $opcodes") {
                    outcome(packets, *opcodes.toIntArray()) shouldBe BAD_RESP_ERR
                }
            }
        }

        test("should go on with the answer to the first request when a read was requested twice") {
            PeerBench().use { bench ->
                bench.read(4)
                bench.arrive(FIRST, 0) { payloadLength = MTU }
                bench.pass(Duration.ofMillis(5)).single().psn shouldBe 1
                bench.answer(MIDDLE, MIDDLE, LAST)
                bench.poll().single().status() shouldBe SUCCESS
                bench.answer(FIRST, MIDDLE, LAST)
                bench.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should take the answer to the second request when that of the first was lost") {
            PeerBench().use { bench ->
                bench.read(4)
                bench.arrive(FIRST, 0) { payloadLength = MTU }
                bench.pass(Duration.ofMillis(5)).single().psn shouldBe 1
                bench.answer(FIRST, MIDDLE, LAST)
                bench.poll().single().status() shouldBe SUCCESS
            }
        }

        test("should refuse a repeated read whose region was closed, as often as it is asked") {
            PeerBench().use { bench ->
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 8 }.single().opcode shouldBe ONLY
                val again = bench.packet(RC_READ_REQUEST, 0) { dmaLength = 8 }
                bench.mr.close()
                repeat(2) { bench.arriveTogether(again) shouldContainExactly listOf(Sent(RC_ACK, 0, REMOTE_ACCESS, 0)) }
                // A copy that the network delivers late must not end the connection.
                bench.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should refuse a repeated read whose region was closed after the answers that are due before it") {
            PeerBench().use { bench ->
                val other = bench.qp.protectionDomain().memoryRegion(8, AccessFlag.REMOTE_READ)
                bench.arrive(RC_READ_REQUEST, 0) { dmaLength = 20 * MTU }.size shouldBe 16
                val key = other.rkey()
                val second =
                    bench.packet(RC_READ_REQUEST, 20) {
                        dmaLength = 8
                        rkey = key
                        remoteAddress = other.address()
                    }
                bench.arriveTogether(second).shouldBeEmpty()
                other.close()
                bench.arriveTogether(second).shouldBeEmpty()
                bench.pass(Duration.ofMillis(1)).last() shouldBe Sent(RC_ACK, 20, NAK_SEQUENCE, 0)
                bench.arriveTogether(second) shouldContainExactly listOf(Sent(RC_ACK, 20, REMOTE_ACCESS, 0))
            }
        }

        test("should tell the reading program that the region was closed while the answer was lost") {
            Pair(EmbeddedFabric.virtual(1), QueuePairType.RC, patient).use { pair ->
                val (a, b) = pair
                pair.fabric.setFaults(pair.server, pair.client, Faults.NONE.loss(1.0))
                a.post { read(1, b.mr.remote()).into(a.mr.slice(0, 8)).signaled() }
                pair.fabric.clock().advance(Duration.ofMillis(1))
                b.mr.close()
                pair.fabric.setFaults(Faults.NONE)
                a.take(1).single().status() shouldBe REM_ACCESS_ERR
            }
        }
    })

private fun PeerBench.read(packets: Int) {
    qp.postWith { it.read(1, mr.remote()).into(mr.slice(0, packets * MTU.toLong())).signaled() }
}

/** Sends responses for the packets from the second on. */
private fun PeerBench.answer(vararg opcodes: Int) =
    opcodes.forEachIndexed { i, opcode ->
        arrive(opcode, i + 1) {
            payloadLength =
                MTU
        }
    }
