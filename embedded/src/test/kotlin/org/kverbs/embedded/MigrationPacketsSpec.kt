package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.AsyncEventType.PATH_MIG
import org.kverbs.attributes.AsyncEventType.PATH_MIG_ERR
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.MigrationState.ARMED
import org.kverbs.attributes.MigrationState.MIGRATED
import org.kverbs.attributes.MigrationState.REARM
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.UC_WRITE_ONLY
import org.kverbs.embedded.internal.wire.Packet
import java.time.Duration

private const val FIRST = 0xffff_c612_0002
private const val SECOND = 0xffff_c612_0003
private const val STRANGER = 0xffff_c612_0004

private fun PeerBench.events(): List<AsyncEventType> =
    generateSequence { context.awaitAsyncEvent(Duration.ZERO) }
        .map { it.type() }
        .filter { it == PATH_MIG || it == PATH_MIG_ERR }
        .toList()

private fun PeerBench.load(gid: Long) {
    val path =
        AddressAttributes.builder().port(1).globalRoute(GlobalRoute(Gid(0, gid), 0, 0, 64, 0)).build()
    qp.modify(
        QueuePairAttributes
            .builder()
            .alternatePath(path, 0, 1, 8)
            .migrationState(REARM)
            .build(),
    )
}

/** Lets an empty write of the peer arrive; returns whether it was answered, to which address, and with which bit. */
private fun PeerBench.write(
    psn: Int,
    from: Long = FIRST,
    migrated: Boolean = false,
    opcode: Int = RC_WRITE_ONLY,
    more: Packet.() -> Unit = {},
): kotlin.Pair<Long, Boolean>? {
    val answers =
        arrive(opcode, psn) {
            sourceGidLow = from
            this.migrated = migrated
            ackRequest = true
            more()
        }
    return headers.takeLast(answers.size).lastOrNull()?.let { it.destination to it.migrated }
}

/** Checks migration packet by packet: the bit, the addresses, and a peer that does not keep to the rules. */
class MigrationPacketsSpec :
    FunSpec({
        test("should set the bit while it is migrated, and clear it from the moment it asks to be armed") {
            PeerBench().use { bench ->
                bench.write(0) shouldBe (FIRST to true)
                bench.load(SECOND)
                bench.write(1, migrated = true) shouldBe (FIRST to false)
                bench.qp.migration shouldBe REARM
                bench.write(2) shouldBe (FIRST to false)
                bench.qp.migration shouldBe ARMED
            }
        }

        test("should follow a peer that migrated, at a repeated request, too, and go on to take its late packets") {
            listOf(1, 0).forEach { psn ->
                PeerBench().use { bench ->
                    bench.load(SECOND)
                    bench.write(0)
                    bench.write(psn, SECOND, migrated = true) shouldBe (SECOND to true)
                    bench.qp.migration shouldBe MIGRATED
                    bench.events() shouldBe listOf(PATH_MIG)
                    bench.write(psn + 1, FIRST) shouldBe (SECOND to true)
                    bench.write(psn + 2, SECOND, migrated = true) shouldBe (SECOND to true)
                    bench.write(psn + 3, STRANGER, migrated = true) shouldBe null
                    bench.events().shouldBeEmpty()
                }
            }
        }

        test("should not follow before it is armed, nor a packet without the bit, nor a stranger") {
            PeerBench().use { bench ->
                bench.write(0, SECOND, migrated = true) shouldBe null
                bench.load(SECOND)
                bench.write(0, SECOND, migrated = true) shouldBe null
                bench.write(0)
                bench.write(1, SECOND) shouldBe null
                bench.write(1, STRANGER, migrated = true) shouldBe null
                bench.write(1, SECOND, migrated = true) { destinationGidLow = STRANGER } shouldBe null
                bench.qp.migration shouldBe ARMED
                bench.events().shouldBeEmpty()
                bench.qp.state() shouldBe RTS
            }
        }

        test("should tell once of a peer that migrated to another path than the loaded one, and go on") {
            PeerBench().use { bench ->
                bench.load(SECOND)
                bench.write(0)
                repeat(100) { bench.write(it + 1, FIRST, migrated = true) shouldBe (FIRST to false) }
                bench.events() shouldBe listOf(PATH_MIG_ERR)
                bench.qp.migration shouldBe ARMED
                bench.load(SECOND)
                bench.write(101)
                bench.write(102, FIRST, migrated = true)
                bench.events() shouldBe listOf(PATH_MIG_ERR)
            }
        }

        test("should go on with unreliable packets that wait for a burst to the former address") {
            PeerBench(QueuePairType.UC).use { bench ->
                bench.load(SECOND)
                bench.write(0, opcode = UC_WRITE_ONLY)
                bench.qp.migration shouldBe ARMED
                bench.qp.postWith { list ->
                    repeat(16) { list.write(it.toLong(), bench.mr.remote()).from(bench.mr.slice(0, 8)) }
                }
                val before = bench.sent.size
                bench.write(1, SECOND, migrated = true, opcode = UC_WRITE_ONLY)
                bench.pass(Duration.ofMillis(20))
                bench.sent.size shouldBe 16
                bench.headers.drop(before).map { it.destination }.toSet() shouldBe setOf(SECOND)
            }
        }

        test("should migrate between ways to one address, which differ by the flow label") {
            PeerBench().use { bench ->
                bench.load(FIRST)
                bench.write(0)
                bench.write(1, migrated = true) shouldBe (FIRST to true)
                bench.events() shouldBe listOf(PATH_MIG)
            }
        }

        test("should send what has no answer on the new path, with the bit, and leave no timer behind") {
            PeerBench(timeout = 8).use { bench ->
                bench.load(SECOND)
                bench.write(0)
                bench.qp.postWith { it.write(1, bench.mr.remote()).from(bench.mr.slice(0, 8)).signaled() }
                bench.pass(Duration.ofNanos(4_800_000))
                bench.headers.drop(1).map { it.destination to it.migrated } shouldBe
                    List(4) { FIRST to false } + listOf(SECOND to true)
                bench.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build())
                bench.scheduled shouldBe 0
            }
        }
    })
