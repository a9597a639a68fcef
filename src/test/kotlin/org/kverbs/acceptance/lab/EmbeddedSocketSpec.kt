package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.shouldBe
import org.kverbs.acceptance.lab.Operation.SEND
import org.kverbs.acceptance.lab.Operation.WRITE_WITH_IMMEDIATE
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC

private const val MIB = 1 shl 20
private const val MESSAGES_OF_A_MIB = 20

/** Checks two embedded devices in two processes with sockets of Linux' default size: a tenth of the messages here. */
internal class EmbeddedSocketSpec :
    FunSpec({
        test("should carry messages of 1 MiB on RC between sockets of the default size") {
            linked(RC) { repeat(3) { listOf(SEND, WRITE_WITH_IMMEDIATE).forEach { carry(it, MIB) } } }
        }

        test(
            "should pause on UC, so that most messages of 1 MiB arrive at a socket of the default size, and none in " +
                "parts",
        ) {
            linked(UC) {
                to.receive(0, listOf(Piece(TARGET, MIB)))
                // Without the pauses one of ten messages arrives, with them all do. UC repeats nothing: a receiver that
                // gets no processor for a while loses a message, on a busy machine one of four.
                val arrived =
                    (1..MESSAGES_OF_A_MIB).count { seed ->
                        from.fill(Piece(0, MIB), seed)
                        from.post(listOf(Request(seed.toLong(), SEND, listOf(Piece(0, MIB)))))
                        from.take(1).single().shouldBe(seed.toLong(), SEND)
                        val came = (1..20).any { !to.isIdle() }
                        if (came) {
                            to.mismatch(Piece(TARGET, MIB), seed) shouldBe -1
                            to.receive(seed.toLong(), listOf(Piece(TARGET, MIB)))
                        }
                        came
                    }
                arrived shouldBeGreaterThanOrEqual MESSAGES_OF_A_MIB / 2
            }
        }
    })

private fun linked(
    type: QueuePairType,
    block: Linked.() -> Unit,
) = SoftRoceWire.withDefaultSockets {
    val (one, other) = SoftRoceWire.APART.map { FarSide.running(it) }
    Linked(one, other, type, Patience()).block()
}
