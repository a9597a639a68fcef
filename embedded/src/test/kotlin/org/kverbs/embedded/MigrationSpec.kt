package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.AsyncEventType.PATH_MIG
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.DeviceCapability.AUTO_PATH_MIG
import org.kverbs.attributes.Feature
import org.kverbs.attributes.Gid
import org.kverbs.attributes.MigrationState
import org.kverbs.attributes.MigrationState.ARMED
import org.kverbs.attributes.MigrationState.MIGRATED
import org.kverbs.attributes.MigrationState.REARM
import org.kverbs.attributes.PortCapability.AUTO_MIGR_SUP
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairAttributesBuilder
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.time.Duration
import kotlin.random.Random

private val FIRST = ConnectOptions.builder().gidIndex(1).timeout(8).retryCount(2).build()
private val OTHER = ConnectOptions.builder().gidIndex(0).timeout(9).build()

internal val QueuePair.migration: MigrationState get() = query().migrationState()

private fun End.events(): List<AsyncEventType> =
    generateSequence { context.awaitAsyncEvent(Duration.ZERO) }.map { it.type() }.toList()

private fun End.gid(index: Int): Gid = context.queryGid(1, index)

private fun untimed(gid: Int) = ConnectOptions.builder().gidIndex(gid).timeout(0).build()

private fun asked(state: MigrationState) = QueuePairAttributes.builder().migrationState(state).build()

private fun Pair.write(id: Long = 1) {
    a.post { write(id, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
    a.take(1).single().status() shouldBe SUCCESS
}

/** Arms both ends: each hears from the other after both asked. */
private fun Pair.arm(options: ConnectOptions = OTHER) {
    a.qp.armAlternatePath(b.qp.endpoint(options), options)
    b.qp.armAlternatePath(a.qp.endpoint(options), options)
    write()
    listOf(a, b).map { it.qp.migration } shouldBe listOf(ARMED, ARMED)
}

/** Checks alternate paths between the two addresses of each device. */
class MigrationSpec :
    FunSpec({
        fun sentence(
            name: String,
            options: ConnectOptions = FIRST,
            body: Pair.() -> Unit,
        ) = test(name) { Pair(EmbeddedFabric.virtual(1), options = options).use { it.body() } }

        sentence("should be armed when each end has heard from the other since both asked for it") {
            a.context.supports(Feature.PATH_MIGRATION) shouldBe true
            a.qp.migration shouldBe MIGRATED
            a.qp.armAlternatePath(b.qp.endpoint(OTHER), OTHER)
            a.qp.migration shouldBe REARM
            write()
            a.qp.migration shouldBe REARM // the peer is not armed, and says so in each packet
            arm()
            a.events() + b.events() shouldBe emptyList()
            val known = a.qp.query()
            known.alternatePath().globalRoute()?.dgid() shouldBe b.gid(0)
            known.address().globalRoute()?.dgid() shouldBe b.gid(1)
            known.alternateTimeout() shouldBe 9
        }

        for (dead in listOf("the receiver" to { it: Pair -> it.b }, "the sender" to { it: Pair -> it.a })) {
            sentence("should go on over the other path when an address of ${dead.first} fails, and tell both") {
                arm()
                fabric.addressDown(dead.second(this).gid(1))
                b.mr.memory().set(JAVA_LONG, 0, 5)
                b.qp.postReceive(9, b.mr.slice(16, 8))
                a.post {
                    fetchAndAdd(1, b.mr.remote(), 1).into(a.mr.slice(0, 8)).signaled()
                    send(2).from(a.mr.slice(0, 8)).signaled()
                    read(3, b.mr.remote()).into(a.mr.slice(8, 8)).signaled()
                }
                a.take(3).map { it.status() } shouldBe listOf(SUCCESS, SUCCESS, SUCCESS)
                b.take(1).single().workRequestId() shouldBe 9
                listOf(a, b).forEach {
                    it.qp.migration shouldBe MIGRATED
                    it.events() shouldBe listOf(PATH_MIG)
                }
                a.mr.memory().get(JAVA_LONG, 0) shouldBe 5 // carried out once
                a.mr.memory().get(JAVA_LONG, 8) shouldBe 6
                a.qp.counters()["retry_exceeded_err"] shouldBe 0
                val known = a.qp.query()
                known.address().globalRoute()?.dgid() shouldBe b.gid(0)
                known.timeout() shouldBe 9
            }
        }

        sentence("should take an answer to its own request from the new path of a peer that migrated first") {
            arm()
            b.post { write(1, a.mr.remote()).from(b.mr.slice(0, 8)).signaled() }
            b.take(1)
            fabric.addressDown(a.gid(1))
            b.post { write(2, a.mr.remote()).from(b.mr.slice(0, 8)).signaled() }
            b.take(1).single().status() shouldBe SUCCESS
            a.qp.migration shouldBe MIGRATED
            write(3)
            listOf(a, b).map { it.events() } shouldBe listOf(listOf(PATH_MIG), listOf(PATH_MIG))
        }

        sentence("should fail as without a path if the peer has not armed its own, and if the new path fails, too") {
            a.qp.armAlternatePath(b.qp.endpoint(OTHER), OTHER)
            fabric.addressDown(b.gid(1))
            a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
            a.take(1).single().status() shouldBe RETRY_EXC_ERR
            a.events().shouldBeEmpty()
        }

        sentence("should fail when the second path fails, too, with all its retries") {
            arm()
            fabric.addressDown(b.gid(1))
            fabric.addressDown(b.gid(0))
            a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
            a.take(1).single().status() shouldBe RETRY_EXC_ERR
            a.events() shouldBe listOf(PATH_MIG)
            a.qp.counters()["local_ack_timeout_err"] shouldBe 6 // the first and two retries, on each path
        }

        for (type in listOf(RC, UC)) {
            test("should migrate on request, and be followed by the peer, on $type") {
                Pair(EmbeddedFabric.virtual(1), type, FIRST).use { pair ->
                    val (a, b) = pair
                    a.qp.armAlternatePath(b.qp.endpoint(OTHER), OTHER)
                    b.qp.armAlternatePath(a.qp.endpoint(OTHER), OTHER)
                    pair.write()
                    b.post { write(1, a.mr.remote()).from(b.mr.slice(0, 8)).signaled() }
                    b.take(1)
                    a.qp.migrate()
                    a.qp.migration shouldBe MIGRATED
                    b.qp.migration shouldBe ARMED
                    pair.fabric.addressDown(a.gid(1))
                    a.fill(3)
                    pair.write()
                    b.qp.migration shouldBe MIGRATED
                    b.bytes(0, 8) shouldBe a.bytes(0, 8)
                    listOf(a, b).map { it.events() } shouldBe listOf(listOf(PATH_MIG), listOf(PATH_MIG))
                    a.qp.migrate() // there is no path any more, and nothing happens
                    a.events().shouldBeEmpty()
                }
            }
        }

        sentence("should complete what was on its way when it migrates, even without a timeout", untimed(1)) {
            arm(untimed(0))
            fabric.setFaults(Faults.NONE.delay(Duration.ofNanos(50_000)))
            a.post { repeat(50) { write(it.toLong(), b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } }
            fabric.clock().advance(Duration.ofNanos(60_000))
            a.qp.migrate()
            a.take(50).all { it.isSuccess } shouldBe true
        }

        sentence("should need another path after each migration, and can go back to the first") {
            arm()
            a.qp.migrate()
            write()
            shouldThrow<RdmaSystemException> { a.qp.modify(asked(REARM)) }.message shouldContain
                "There is no alternate path to arm"
            arm(FIRST)
            b.qp.migrate()
            b.post { write(1, a.mr.remote()).from(b.mr.slice(0, 8)).signaled() }
            b.take(1).single().status() shouldBe SUCCESS
            a.qp.query().address().globalRoute()?.dgid() shouldBe b.gid(1)
        }

        sentence("should forget the path when it is reset") {
            arm()
            a.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build())
            a.qp.migration shouldBe MIGRATED
            a.qp.connect(b.qp.endpoint(FIRST), FIRST)
            shouldThrow<RdmaSystemException> { a.qp.modify(asked(REARM)) }.errnoName() shouldBe "EINVAL"
        }

        sentence("should wait for the peer again when another path is loaded") {
            arm()
            val path = AddressAttributes.toGid(b.gid(0), 0, 1)
            a.qp.modify(QueuePairAttributes.builder().alternatePath(path, 0, 1, 5).build())
            a.qp.migration shouldBe REARM
            a.qp.migrate() // ends the wait
            a.qp.migration shouldBe MIGRATED
            a.events().shouldBeEmpty()
            a.qp.query().address().globalRoute()?.dgid() shouldBe b.gid(1)
            a.qp.modify(asked(REARM)) // the loaded path is there
        }

        sentence("should refuse wrong paths and states, and name what is wrong") {
            val path = AddressAttributes.toGid(b.gid(0), 0, 1)

            fun refusal(build: QueuePairAttributesBuilder.() -> Unit) =
                shouldThrow<RdmaSystemException> { a.qp.modify(QueuePairAttributes.builder().apply(build).build()) }
            refusal { alternatePath(path, 1, 1, 5) }.errnoName() shouldBe "EINVAL"
            refusal { alternatePath(path, 0, 2, 5) }.errnoName() shouldBe "EINVAL"
            refusal { alternatePath(AddressAttributes.toGid(b.gid(0), 7, 1), 0, 1, 5) }.errnoName() shouldBe "ENODATA"
            refusal { alternatePath(AddressAttributes.toGid(b.gid(0), 1, 1), 0, 1, 5) }.errnoName() shouldBe "EINVAL"
            refusal { alternatePath(AddressAttributes.toLid(7, 1), 0, 1, 5) }.errnoName() shouldBe "EINVAL"
            refusal { migrationState(ARMED) }.message shouldContain "ask for REARM"
            refusal { migrationState(REARM) }.message shouldContain "none was loaded"
            refusal {
                alternatePath(path, 0, 1, 5)
                migrationState(ARMED)
            }.errnoName() shouldBe "EINVAL"
            a.qp.migration shouldBe MIGRATED
            a.qp.modify(asked(MIGRATED))
            a.events().shouldBeEmpty()
            val fresh = a.pd.queuePair(QueuePairInitAttributes.of(RC, a.cq))
            shouldThrow<RdmaSystemException> { fresh.armAlternatePath(b.qp.endpoint(OTHER), OTHER) }
                .errnoName() shouldBe "EINVAL"
            fresh.close()
        }

        test("should have no alternate paths with the semantics of Soft-RoCE, and say so") {
            Pair(EmbeddedFabric.virtual(1), options = FIRST, semantics = Semantics.RXE).use { (a, b) ->
                a.context.supports(Feature.PATH_MIGRATION) shouldBe false
                (AUTO_PATH_MIG in a.context.queryDevice().capabilities()) shouldBe false
                (AUTO_MIGR_SUP in a.context.queryPort(1).capabilities()) shouldBe false
                val missing =
                    shouldThrow<UnsupportedVerbException> { a.qp.armAlternatePath(b.qp.endpoint(OTHER), OTHER) }
                missing.message shouldContain "ibv_modify_qp(RC queue pair ${a.qp.number()}, ALT_PATH"
                shouldThrow<RdmaSystemException> { a.qp.modify(asked(MIGRATED)) }.message shouldContain
                    "Linux has no alternate paths on RoCE"
            }
        }

        test("should go on with XRC, where the receiving end follows the sending one") {
            XrcPair(EmbeddedFabric.virtual(1), FIRST).use { pair ->
                pair.a.qp.armAlternatePath(pair.receiver.endpoint(OTHER), OTHER)
                pair.receiver.armAlternatePath(pair.a.qp.endpoint(OTHER), OTHER)

                fun write() {
                    pair.a.post {
                        write(1, pair.mr.remote())
                            .from(pair.a.mr.slice(0, 8))
                            .toSharedReceiveQueue(pair.number)
                            .signaled()
                    }
                    pair.a.take(1).single().status() shouldBe SUCCESS
                }
                write()
                pair.receiver.query().migrationState() shouldBe ARMED
                pair.fabric.addressDown(pair.context.queryGid(1, 1))
                write()
                pair.receiver.query().migrationState() shouldBe MIGRATED
                pair.a.qp.migration shouldBe MIGRATED
            }
        }

        test("should lose and repeat nothing while addresses fail and come back over a bad line") {
            var migrations = 0L
            repeat(6) { seed ->
                val patience =
                    ConnectOptions
                        .builder()
                        .gidIndex(1)
                        .timeout(10)
                        .retryCount(7)
                        .rnrRetry(7)
                        .minRnrTimer(5)
                        .build()
                val other = ConnectOptions.builder().gidIndex(0).timeout(10).build()
                Pair(EmbeddedFabric.virtual(seed + 1L), options = patience).use { pair ->
                    val random = Random(seed)
                    var paths = listOf(patience, other)
                    repeat(4) {
                        pair.arm(paths[1])
                        pair.fabric.setFaults(Faults.BAD_LINE)
                        val side = if (random.nextBoolean()) pair.a else pair.b
                        val dead = side.gid(paths[0].gidIndex())
                        pair.fabric.addressDown(dead)
                        withClue("seed $seed, round $it") { exchange(pair, random) }
                        migrations += (pair.a.events() + pair.b.events()).count { it == PATH_MIG }
                        pair.fabric.addressUp(dead)
                        pair.fabric.setFaults(Faults.NONE)
                        paths = paths.reversed()
                    }
                }
            }
            migrations shouldBeGreaterThan 40
        }
    })
