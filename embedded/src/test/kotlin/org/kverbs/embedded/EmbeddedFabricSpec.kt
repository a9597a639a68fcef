package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.PortState
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.ValueLayout
import java.time.Duration
import kotlin.random.Random

class EmbeddedFabricSpec :
    FunSpec({
        val faulty =
            mapOf(
                "5 % loss" to Faults.NONE.loss(0.05),
                "30 % duplication" to Faults.NONE.duplication(0.3),
                "30 % reordering" to Faults.NONE.reordering(0.3),
                "5 % corruption" to Faults.NONE.corruption(0.05),
                "a delay that varies" to Faults.NONE.delay(Duration.ofNanos(1_000), Duration.ofMillis(1)),
                "a slow receiver" to Faults.NONE.slowReceiver(10_000),
                "a bad line" to Faults.BAD_LINE,
            )
        for ((name, faults) in faulty) {
            test("should bring every operation to its end with the right bytes over $name") {
                for (seed in 1L..5L) {
                    Pair(EmbeddedFabric.virtual(seed), options = patient).use { pair ->
                        pair.fabric.setFaults(faults)
                        exchange(pair, Random(seed))
                    }
                }
            }
        }

        test(
            "should read more than a window although responses are lost, and the peer repeats no more than it had " +
                "answered",
        ) {
            val bytes = 4L shl 20
            Pair(EmbeddedFabric.virtual(3), options = patient, bytes = bytes).use { pair ->
                val (a, b) = pair
                pair.fabric.setFaults(Faults.NONE.loss(0.01))
                b.fill(seed = 1)
                a.post { read(1, b.mr.remote()).into(a.mr.slice()).signaled() }
                a.take(1).single().status() shouldBe WorkCompletionStatus.SUCCESS
                a.bytes().contentEquals(b.bytes()) shouldBe true
            }
        }

        test("should do the same in each run with the same seed, and differ with another") {
            fun trace(seed: Long): List<Any> =
                Pair(EmbeddedFabric.virtual(seed), options = patient).use { pair ->
                    pair.fabric.setFaults(Faults.BAD_LINE)
                    exchange(pair, Random(7))
                    listOf(
                        pair.fabric.clock().elapsed(),
                        pair.fabric.faultsInjected(),
                        pair.a.qp.number(),
                        pair.a.mr.rkey(),
                    )
                }
            trace(1) shouldBe trace(1)
            trace(1) shouldNotBe trace(2)
        }

        test(
            "should exceed its retries over a partition, in virtual seconds and no real time, and go on after it is " +
                "healed",
        ) {
            val slow = ConnectOptions.builder().timeout(18).retryCount(7).build()
            Pair(EmbeddedFabric.virtual(1), options = slow).use { pair ->
                val (a, b) = pair
                pair.fabric.partition(pair.client, pair.server)
                a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                a.take(1).single().status() shouldBe WorkCompletionStatus.RETRY_EXC_ERR
                pair.fabric.clock().elapsed() shouldBeGreaterThan Duration.ofSeconds(7)
                a.qp.state() shouldBe QueuePairState.ERR

                pair.fabric.heal(pair.client, pair.server)
                val c = End(pair.client, QueuePairType.RC, 64)
                val d = End(pair.server, QueuePairType.RC, 64)
                c.qp.connect(d.qp.endpoint())
                d.qp.connect(c.qp.endpoint())
                c.post { write(1, d.mr.remote()).from(c.mr.slice(0, 8)).signaled() }
                c.take(1).single().isSuccess shouldBe true
                c.close()
                d.close()
            }
        }

        test("should bring a message over a partition that is healed before its retries are over") {
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                val (a, b) = pair
                a.fill(3)
                pair.fabric.partition(pair.client, pair.server)
                a.post { write(1, b.mr.remote()).from(a.mr.slice()).signaled() }
                pair.fabric.clock().advance(Duration.ofMillis(1))
                pair.fabric.heal(pair.client, pair.server)
                a.take(1).single().isSuccess shouldBe true
                b.bytes() shouldBe a.bytes()
            }
        }

        test(
            "should raise PORT_ERR and PORT_ACTIVE when its cable is unplugged and plugged in, and lose packets in " +
                "between",
        ) {
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                val (a, b) = pair
                pair.fabric.linkDown(pair.server)
                b.context.awaitAsyncEvent(Duration.ZERO).shouldNotBeNull().type() shouldBe AsyncEventType.PORT_ERR
                b.context.queryPort(1).state() shouldBe PortState.DOWN
                a.context.queryPort(1).state() shouldBe PortState.ACTIVE
                a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                a.cq.poll({ }, 1) shouldBe 0
                pair.fabric.linkUp(pair.server)
                b.context.awaitAsyncEvent(Duration.ZERO).shouldNotBeNull().type() shouldBe AsyncEventType.PORT_ACTIVE
                a.take(1).single().isSuccess shouldBe true
            }
        }

        test("should exceed its retries when the peer is dead, while the dead peer notices nothing") {
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                val (a, b) = pair
                repeat(40) { a.post { write(2, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } }
                a.take(40).forEach { it.orThrow() }
                b.qp.postReceive(7, b.mr.slice())
                pair.fabric.kill(pair.server)
                a.post { send(1).from(a.mr.slice(0, 8)) }
                a.take(1).single().status() shouldBe WorkCompletionStatus.RETRY_EXC_ERR
                b.cq.poll({ }, 1) shouldBe 0
                b.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should complete the sends of an unreliable connection to a dead device") {
            Pair(EmbeddedFabric.virtual(1), QueuePairType.UC).use { pair ->
                val (a, b) = pair
                pair.fabric.kill(pair.client)
                a.post { repeat(4) { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() } }
                a.take(4).map { it.status() } shouldBe List(4) { WorkCompletionStatus.SUCCESS }
            }
        }

        test("should wait for a receive as long as the peer's timer says, and end when its retries are over") {
            val options = ConnectOptions.builder().rnrRetry(3).minRnrTimer(31).build() // 491.52 ms each
            Pair(EmbeddedFabric.virtual(1), options = options).use { pair ->
                val (a, b) = pair
                a.post { send(1).from(a.mr.slice(0, 8)) }
                a.take(1).single().status() shouldBe WorkCompletionStatus.RNR_RETRY_EXC_ERR
                pair.fabric.clock().elapsed() shouldBeGreaterThan Duration.ofMillis(1400)
                b.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should hit some packets with faults, and none without") {
            Pair(EmbeddedFabric.realTime(1), options = patient).use { pair ->
                exchange(pair, Random(1))
                pair.fabric.faultsInjected() shouldBe 0
            }
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                pair.fabric.setFaults(Faults.NONE.loss(0.1))
                exchange(pair, Random(1))
                pair.fabric.faultsInjected() shouldBeGreaterThan 10
            }
        }

        test("should refuse invalid faults, devices of another fabric, and the clock of a real-time fabric") {
            shouldThrow<IllegalArgumentException> { Faults.NONE.loss(1.5) }.message shouldBe
                "loss is 1.5: give a fraction of all packets, from 0 to 1"
            shouldThrow<IllegalArgumentException> { Faults.NONE.delay(Duration.ofMillis(2), Duration.ofMillis(1)) }
            EmbeddedFabric.realTime(1).use { one ->
                EmbeddedFabric.virtual(1).use { other ->
                    val stranger = other.addDevice()
                    shouldThrow<IllegalArgumentException> { one.linkDown(stranger) }
                    shouldThrow<IllegalStateException> { one.clock() }
                    shouldThrow<IllegalArgumentException> { other.clock().advance(Duration.ofMillis(-1)) }
                }
            }
        }
    })
