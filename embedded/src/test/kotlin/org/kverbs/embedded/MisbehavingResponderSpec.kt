package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.BAD_RESP_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_INV_REQ_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.embedded.GuardedBench.Companion.ACK
import org.kverbs.embedded.GuardedBench.Companion.MTU
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_REQUEST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_MIDDLE
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.time.Duration

private const val NAK = 0x60
private const val NAK_SEQUENCE = 0x60
private const val NAK_REMOTE_ACCESS = 0x62
private const val RNR_NAK = 0x20

/** The bytes of a read of three packets, the last of 88 bytes, and their destination. */
private const val READ = 600L
private const val TARGET = 8192L
private val READ_BYTES = TARGET until TARGET + READ

/** Long enough for all retries of a queue pair whose timeout is 4 ms. */
private val LONG = Duration.ofMillis(100)

private val responses =
    listOf(
        RC_READ_RESPONSE_FIRST to MTU,
        RC_READ_RESPONSE_MIDDLE to MTU,
        RC_READ_RESPONSE_LAST to 88,
    )

/** The lengths of the responses to the read, of which the last is wrong (IBA volume 1, 9.7.5.2). */
private val wrongLengths: Map<String, List<Int>> =
    mapOf(
        "an empty first response" to listOf(0),
        "a first response that is a byte too short" to listOf(MTU - 1),
        "a first response that is a byte too long" to listOf(MTU + 1),
        "a first response with all the data" to listOf(READ.toInt()),
        "a first response with the longest payload that the wire has" to listOf(4096),
        "an empty middle response" to listOf(MTU, 0),
        "a middle response that is too short" to listOf(MTU, MTU - 4),
        "a middle response that is too long" to listOf(MTU, MTU + 4),
        "an empty last response" to listOf(MTU, MTU, 0),
        "a last response that is a byte too short" to listOf(MTU, MTU, 87),
        "a last response that is a byte too long" to listOf(MTU, MTU, 89),
        "a last response as long as the path MTU" to listOf(MTU, MTU, MTU),
    )

/** PSNs without a request while 0 to 2 are in flight: past ones, future ones, and ones far from both. */
private val foreignPsns = listOf(0xffffff, 0xfffff0, 0x800002, 3, 4, 16, 0x7fffff, 0x800001)

/**
 * Checks a peer with unrequested or wrong answers: requests complete as IBA volume 1, 9.9.2 demands, and other queue
 * pairs do not notice.
 */
class MisbehavingResponderSpec :
    FunSpec({
        for (code in 1..31) {
            val status =
                mapOf(1 to REM_INV_REQ_ERR, 2 to REM_ACCESS_ERR, 3 to REM_OP_ERR).getOrDefault(code, BAD_RESP_ERR)
            test(
                "should fail the request of a NAK with code $code by $status, complete earlier requests, and flush " +
                    "the rest",
            ) {
                GuardedBench().use { bench ->
                    bench.writes(3)
                    bench.arrive(RC_ACK, 1) { syndrome = NAK or code }.shouldBeEmpty()
                    bench.results() shouldBe listOf(1L to SUCCESS, 2L to status, 3L to WR_FLUSH_ERR)
                    bench.ended()
                }
            }
        }

        test("should take an acknowledgement with any number of credits") {
            GuardedBench().use { bench ->
                for (credits in 0..31) {
                    bench.writes(1)
                    bench.arrive(RC_ACK, credits) { syndrome = credits }.shouldBeEmpty()
                    bench.results() shouldBe listOf(1L to SUCCESS)
                }
                bench.unharmed(RTS)
            }
        }

        test(
            "should complete in order all requests that one acknowledgement covers, and ignore older " +
                "acknowledgements that come later",
        ) {
            GuardedBench().use { bench ->
                bench.writes(5)
                bench.arrive(RC_ACK, 3) { syndrome = ACK }.shouldBeEmpty()
                bench.results() shouldBe (1L..4L).map { it to SUCCESS }
                repeat(4) { psn -> bench.arrive(RC_ACK, psn) { syndrome = ACK }.shouldBeEmpty() }
                bench.results().shouldBeEmpty()
                repeat(2) { bench.arrive(RC_ACK, 4) { syndrome = ACK }.shouldBeEmpty() }
                bench.results() shouldBe listOf(5L to SUCCESS)
                bench.unharmed(RTS)
            }
        }

        val bogus =
            mapOf("an acknowledgement" to ACK, "an RNR NAK" to RNR_NAK) +
                (0..4).map { "a NAK with code $it" to (NAK or it) }
        bogus.forEach { (name, code) ->
            test("should ignore $name for a PSN that is not in flight") {
                GuardedBench().use { bench ->
                    bench.writes(3)
                    foreignPsns.forEach { psn ->
                        withClue("PSN $psn") { bench.arrive(RC_ACK, psn) { syndrome = code }.shouldBeEmpty() }
                    }
                    bench.results().shouldBeEmpty()
                    bench.unharmed(RTS)
                    bench.arrive(RC_ACK, 2) { syndrome = ACK }.shouldBeEmpty()
                    bench.results() shouldBe (1L..3L).map { it to SUCCESS }
                    bench.pass(LONG).shouldBeEmpty()
                }
            }
        }

        test("should drop an AETH of the reserved kind, whatever its PSN") {
            GuardedBench().use { bench ->
                bench.writes(3)
                for (syndrome in 0x40..0x5f) {
                    repeat(
                        4,
                    ) { psn -> bench.arrive(RC_ACK, psn) { this.syndrome = syndrome }.shouldBeEmpty() }
                }
                bench.results().shouldBeEmpty()
                bench.unharmed(RTS)
                bench.arrive(RC_ACK, 2) { syndrome = ACK }
                bench.results() shouldBe (1L..3L).map { it to SUCCESS }
            }
        }

        test("should wait as long as each of the 32 codes of an RNR NAK says, and send again then") {
            for (code in 0..31) {
                GuardedBench().use { bench ->
                    bench.writes(1)
                    repeat(3) { bench.arrive(RC_ACK, 0) { syndrome = RNR_NAK or code }.shouldBeEmpty() }
                    bench.pass(Duration.ofNanos(rnrNanos(code) - 1)).shouldBeEmpty()
                    bench.pass(Duration.ofNanos(1)).map { it.psn } shouldBe listOf(0)
                    bench.unharmed(RTS)
                }
            }
        }

        test("should fail a request that is refused while it waits for the receiver") {
            GuardedBench().use { bench ->
                bench.writes(1)
                bench.arrive(RC_ACK, 0) { syndrome = RNR_NAK }.shouldBeEmpty()
                bench.arrive(RC_ACK, 0) { syndrome = NAK_REMOTE_ACCESS }.shouldBeEmpty()
                bench.results() shouldBe listOf(1L to REM_ACCESS_ERR)
                bench.ended()
            }
        }

        test("should send again once for any number of NAKs of the same sequence, and give up after its retries") {
            GuardedBench().use { bench ->
                bench.writes(2)
                bench.arrive(RC_ACK, 0) { syndrome = NAK_SEQUENCE }.map { it.psn } shouldBe listOf(0, 1)
                repeat(1000) {
                    bench.arrive(RC_ACK, it and 1) { syndrome = NAK_SEQUENCE }.size.let { sent ->
                        (sent <= 1) shouldBe
                            true
                    }
                }
                repeat(100) {
                    bench.pass(Duration.ofMillis(1))
                    bench.arrive(RC_ACK, 1) { syndrome = NAK_SEQUENCE }
                }
                bench.results() shouldBe listOf(1L to SUCCESS, 2L to RETRY_EXC_ERR)
                bench.ended()
            }
        }

        test("should give up after its retries when the peer is silent") {
            GuardedBench().use { bench ->
                bench.writes(2)
                bench.pass(LONG).map { it.psn } shouldBe listOf(0, 1, 0, 1, 0, 1)
                bench.results() shouldBe listOf(1L to RETRY_EXC_ERR, 2L to WR_FLUSH_ERR)
                bench.ended()
            }
        }

        wrongLengths.forEach { (name, lengths) ->
            test("should fail a read by a bad response for $name, and write nothing behind its memory") {
                GuardedBench().use { bench ->
                    bench.read()
                    lengths.forEachIndexed { psn, bytes ->
                        bench.arrive(responses[psn].first, psn) { payloadLength = bytes }.shouldBeEmpty()
                    }
                    bench.results() shouldBe listOf(1L to BAD_RESP_ERR)
                    bench.ended(READ_BYTES)
                }
            }
        }

        test("should not take more data than a read requested") {
            GuardedBench().use { bench ->
                bench.read()
                for (psn in listOf(3, 4, 0x7fffff, 0xffffff)) {
                    responses.forEach { (opcode, bytes) ->
                        bench.arrive(opcode, psn) { payloadLength = bytes }.shouldBeEmpty()
                    }
                }
                bench.results().shouldBeEmpty()
                bench.unharmed(RTS)
                bench.answer(0..2)
                bench.arrive(RC_READ_RESPONSE_MIDDLE, 3) { payloadLength = MTU }.shouldBeEmpty()
                bench.results() shouldBe listOf(1L to SUCCESS)
                bench.unharmed(RTS, READ_BYTES)
            }
        }

        test("should take each part of a read once, so that late packets can't change it") {
            GuardedBench().use { bench ->
                bench.read()
                for (psn in 0..2) {
                    bench.answer(psn..psn)
                    bench.paint()
                    bench.answer(0..psn)
                }
                bench.results() shouldBe listOf(1L to SUCCESS)
                bench.unharmed(RTS)
            }
        }

        test("should ask once for the part of a read that a gap left out, and take the rest in order") {
            GuardedBench().use { bench ->
                bench.read()
                bench.answer(0..0)
                bench.arrive(RC_READ_RESPONSE_LAST, 2) { payloadLength = 88 } shouldBe
                    listOf(Sent(RC_READ_REQUEST, 1, 0, 0))
                repeat(10) { bench.arrive(RC_READ_RESPONSE_LAST, 2) { payloadLength = 88 }.shouldBeEmpty() }
                bench.results().shouldBeEmpty()
                bench.unharmed(RTS, TARGET until TARGET + MTU)
                bench.arrive(RC_READ_RESPONSE_FIRST, 1) { payloadLength = MTU }.shouldBeEmpty()
                bench.answer(2..2)
                bench.results() shouldBe listOf(1L to SUCCESS)
                bench.unharmed(RTS, READ_BYTES)
            }
        }

        test("should fail a read whose rest is refused, and keep only the data that had arrived") {
            GuardedBench().use { bench ->
                bench.read()
                bench.answer(0..0)
                bench.arrive(RC_ACK, 1) { syndrome = NAK_REMOTE_ACCESS }.shouldBeEmpty()
                bench.results() shouldBe listOf(1L to REM_ACCESS_ERR)
                bench.ended(TARGET until TARGET + MTU)
            }
        }

        test("should ask again for a read that is acknowledged instead of answered, and give up after its retries") {
            GuardedBench().use { bench ->
                bench.read()
                bench.arrive(RC_ACK, 2) { syndrome = ACK } shouldBe listOf(Sent(RC_READ_REQUEST, 0, 0, 0))
                repeat(100) { bench.arrive(RC_ACK, it % 3) { syndrome = ACK }.shouldBeEmpty() }
                bench.results().shouldBeEmpty()
                repeat(100) {
                    bench.pass(Duration.ofMillis(1))
                    bench.arrive(RC_ACK, 2) { syndrome = ACK }
                }
                bench.results() shouldBe listOf(1L to RETRY_EXC_ERR)
                bench.ended()
            }
        }

        test("should not take an acknowledgement of a later request for the data of an earlier read") {
            GuardedBench().use { bench ->
                bench.writes(1)
                bench.read()
                bench.writes(1)
                bench.arrive(RC_ACK, 4) { syndrome = ACK }.map { it.psn } shouldBe listOf(1, 4)
                bench.results() shouldBe listOf(1L to SUCCESS)
                bench.answer(1..3)
                bench.arrive(RC_ACK, 4) { syndrome = ACK }
                bench.results() shouldBe listOf(1L to SUCCESS, 1L to SUCCESS)
                bench.unharmed(RTS, READ_BYTES)
            }
        }

        test("should fail an atomic that is answered as a read, and a read that is answered as an atomic") {
            for (opcode in listOf(
                RC_READ_RESPONSE_ONLY,
                RC_READ_RESPONSE_FIRST,
                RC_READ_RESPONSE_MIDDLE,
                RC_READ_RESPONSE_LAST,
            )) {
                GuardedBench().use { bench ->
                    bench.atomic()
                    bench.arrive(opcode, 0) { payloadLength = 8 }.shouldBeEmpty()
                    bench.results() shouldBe listOf(1L to BAD_RESP_ERR)
                    bench.ended()
                }
            }
            GuardedBench().use { bench ->
                bench.read()
                bench.arrive(RC_ATOMIC_ACK, 0) { originalValue = 7 }.shouldBeEmpty()
                bench.results() shouldBe listOf(1L to BAD_RESP_ERR)
                bench.ended()
            }
        }

        test("should take the first answer to an atomic, and no repeated or unrequested one") {
            GuardedBench().use { bench ->
                bench.atomic()
                bench.arrive(RC_ATOMIC_ACK, 1) { originalValue = 6 }.shouldBeEmpty()
                bench.arrive(RC_ATOMIC_ACK, 0xffffff) { originalValue = 6 }.shouldBeEmpty()
                bench.results().shouldBeEmpty()
                bench.arrive(RC_ATOMIC_ACK, 0) { originalValue = 7 }.shouldBeEmpty()
                bench.arrive(RC_ATOMIC_ACK, 0) { originalValue = 8 }.shouldBeEmpty()
                bench.results() shouldBe listOf(1L to SUCCESS)
                bench.mr.memory().get(JAVA_LONG, TARGET) shouldBe 7
                bench.unharmed(RTS, TARGET until TARGET + 8)
            }
        }

        test("should neither complete a write by read data, nor store the data") {
            GuardedBench().use { bench ->
                bench.writes(1)
                responses.forEach { (opcode, bytes) ->
                    bench.arrive(opcode, 0) { payloadLength = bytes }.shouldBeEmpty()
                }
                bench.arrive(RC_ATOMIC_ACK, 0) { originalValue = 6 }.shouldBeEmpty()
                bench.results().shouldBeEmpty()
                bench.arrive(RC_ACK, 0) { syndrome = ACK }
                bench.results() shouldBe listOf(1L to SUCCESS)
                bench.unharmed(RTS)
            }
        }

        test("should ignore answers from another address or partition, or to another queue pair") {
            GuardedBench().use { bench ->
                bench.writes(1)
                bench.arrive(RC_ACK, 0) { sourceGidLow++ }.shouldBeEmpty()
                bench.arrive(RC_ACK, 0) { pkey = 0x1234 }.shouldBeEmpty()
                bench.arrive(RC_ACK, 0) { destinationQp = destinationQp xor 0x800000 }.shouldBeEmpty()
                bench.results().shouldBeEmpty()
                bench.unharmed(RTS)
            }
        }
    })

/**
 * Returns the time of a code. IBA volume 1, table 45: from 10 us on each time is twice the one before the last, except
 * code 0, which is the longest.
 */
private fun rnrNanos(code: Int): Long =
    when (code) {
        0 -> 655_360_000
        1 -> 10_000
        else -> (if (code % 2 == 0) 10_000L else 15_000L) shl code / 2
    }

/** Posts writes of 8 bytes from the start of the region, numbered from 1. */
private fun GuardedBench.writes(count: Int) {
    repeat(count) { number -> qp.postWith { it.write(number + 1L, mr.remote()).from(mr.slice(0, 8)).signaled() } }
}

private fun GuardedBench.read() {
    qp.postWith { it.read(1, mr.remote()).into(mr.slice(TARGET, READ)).signaled() }
}

/** Sends the right responses to a read with these PSNs; the read begins with PSN 0 or 1. */
private fun GuardedBench.answer(psns: IntRange) {
    psns.forEach { psn ->
        val (opcode, bytes) = responses[if (psns.first == 1 && psns.last == 3) psn - 1 else psn]
        arrive(opcode, psn) { payloadLength = bytes }
    }
}

private fun GuardedBench.atomic() {
    qp.postWith { it.fetchAndAdd(1, mr.remote(), 1).into(mr.slice(TARGET, 8)).signaled() }
}
