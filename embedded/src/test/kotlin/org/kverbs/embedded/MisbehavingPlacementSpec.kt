package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.BAD_RESP_ERR
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.embedded.GuardedBench.Companion.ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_MIDDLE
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import java.time.Duration

/** Checks a peer with unrequested or wrong answers to atomic writes and flushes, as [MisbehavingResponderSpec] does. */
class MisbehavingPlacementSpec :
    FunSpec({
        for (what in listOf("atomic write", "flush")) {
            test("should fail an $what that is answered with data, as an atomic, or as a part of a read") {
                val wrong =
                    listOf(RC_READ_RESPONSE_ONLY to 8, RC_ATOMIC_ACK to 0) +
                        listOf(RC_READ_RESPONSE_FIRST, RC_READ_RESPONSE_MIDDLE, RC_READ_RESPONSE_LAST).map { it to 0 }
                for ((opcode, bytes) in wrong) {
                    placing().use { bench ->
                        bench.place(what)
                        bench.arrive(opcode, 0) { payloadLength = bytes }.shouldBeEmpty()
                        bench.results() shouldBe listOf(1L to BAD_RESP_ERR)
                        bench.ended()
                    }
                }
            }

            test("should take the first answer to an $what, and no repeated or unrequested one") {
                placing().use { bench ->
                    bench.place(what)
                    listOf(1, 0xffffff, 2).forEach { bench.arrive(RC_READ_RESPONSE_ONLY, it).shouldBeEmpty() }
                    bench.results().shouldBeEmpty()
                    repeat(3) { bench.arrive(RC_READ_RESPONSE_ONLY, 0).shouldBeEmpty() }
                    bench.results() shouldBe listOf(1L to SUCCESS)
                    bench.unharmed(RTS)
                }
            }

            test("should ask again for an $what that is acknowledged instead of answered, and give up at last") {
                placing().use { bench ->
                    val opcode = bench.place(what).single().opcode
                    bench.arrive(RC_ACK, 0) { syndrome = ACK } shouldBe listOf(Sent(opcode, 0, 0, bench.bytes(what)))
                    bench.results().shouldBeEmpty()
                    repeat(100) {
                        bench.pass(Duration.ofMillis(1))
                        bench.arrive(RC_ACK, 0) { syndrome = ACK }
                    }
                    bench.results() shouldBe listOf(1L to RETRY_EXC_ERR)
                    bench.ended()
                }
            }

            test("should send an $what again after its timeout, with the same bytes") {
                placing().use { bench ->
                    val first = bench.place(what)
                    bench.pass(Duration.ofMillis(5)) shouldBe first
                    bench.arrive(RC_READ_RESPONSE_ONLY, 0).shouldBeEmpty()
                    bench.results() shouldBe listOf(1L to SUCCESS)
                }
            }
        }
    })

private fun placing() = GuardedBench(features = setOf(Feature.ATOMIC_WRITE, Feature.FLUSH))

/** Posts an atomic write or a flush, number 1, and returns what the device sends. */
private fun GuardedBench.place(what: String): List<Sent> =
    during {
        qp.postWith {
            if (what == "flush") {
                it.flush(1, mr.remote(), FlushPlacement.GLOBAL).signaled()
            } else {
                it.atomicWrite(1, mr.remote(), 7).signaled()
            }
        }
    }

/** Returns how many bytes of payload the request has. */
@Suppress("UnusedReceiverParameter")
private fun GuardedBench.bytes(what: String) = if (what == "flush") 0 else 8
