package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeBetween
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePair
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.RateLimit
import java.time.Duration

private fun toState(state: QueuePairState) = QueuePairAttributes.builder().state(state).build()

/** Checks the rate of a queue pair that is limited, on a fabric of virtual time. A byte at 8,000 kb/s takes 1 us. */
class PacingSpec :
    FunSpec({
        fun sentence(
            name: String,
            type: QueuePairType = RC,
            faults: Faults = Faults.NONE,
            body: Pair.() -> Unit,
        ) = test(name) {
            val fabric = EmbeddedFabric.virtual(1)
            fabric.setFaults(faults)
            Pair(fabric, type).use { it.body() }
        }

        fun Pair.sends(
            count: Int,
            bytes: Long,
        ) {
            repeat(count) { b.qp.postReceive(it.toLong(), b.mr.slice(0, bytes)) }
            repeat(count) { index -> a.post { send(index.toLong()).from(a.mr.slice(0, bytes)).signaled() } }
        }

        fun Pair.timeOf(work: Pair.() -> Unit): Duration {
            val start = fabric.clock().elapsed()
            work()
            return fabric.clock().elapsed() - start
        }

        for (type in listOf(RC, UC)) {
            sentence("should send no faster on $type than it is told, and complete all in order", type) {
                a.qp.limitRate(RateLimit.ofKbps(8_000))
                val time =
                    timeOf {
                        sends(50, 1_000)
                        b.take(50).map { it.workRequestId() } shouldBe (0L until 50L).toList()
                        a.take(50).map { it.workRequestId() } shouldBe (0L until 50L).toList()
                    }
                time.shouldBeBetween(Duration.ofMillis(49), Duration.ofMillis(52))
            }
        }

        sentence(
            "should send a long message at the rate, packet by packet",
            faults = Faults.NONE.delay(Duration.ofNanos(1_000)),
        ) {
            a.fill(7)
            a.qp.limitRate(RateLimit.ofKbps(8_000))
            val time =
                timeOf {
                    a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 60_000)).signaled() }
                    a.take(1).single().isSuccess shouldBe true
                }
            time.shouldBeBetween(Duration.ofMillis(54), Duration.ofMillis(62))
            b.bytes(size = 60_000) shouldBe a.bytes(size = 60_000)
        }

        sentence("should pass a burst at once, and the rest at the rate") {
            a.qp.limitRate(RateLimit(8_000, 10_000, 0))
            val time =
                timeOf {
                    sends(30, 1_000)
                    a.take(30)
                }
            time.shouldBeBetween(Duration.ofMillis(18), Duration.ofMillis(22))
        }

        sentence("should send at once when the limit ends, also what waits for its turn") {
            a.qp.limitRate(RateLimit.ofKbps(8))
            sends(5, 1_000) // would take four seconds more
            val time =
                timeOf {
                    a.qp.limitRate(RateLimit.NONE)
                    a.take(5)
                }
            time shouldBeLessThan Duration.ofMillis(5)
        }

        sentence("should keep the rate of a message that was sent before the limit began") {
            sends(20, 1_000)
            a.qp.limitRate(RateLimit.ofKbps(8_000))
            a.take(20).all { it.isSuccess } shouldBe true
            b.take(20).all { it.isSuccess } shouldBe true
        }

        sentence("should send every message in spite of lost packets", faults = Faults.NONE.loss(0.2)) {
            a.qp.limitRate(RateLimit.ofKbps(80_000))
            sends(60, 500)
            a.take(60).all { it.isSuccess } shouldBe true
            b.take(60).map { it.workRequestId() } shouldBe (0L until 60L).toList()
        }

        sentence("should flush what waits for its turn, and forget the limit when it is reset") {
            a.qp.limitRate(RateLimit.ofKbps(8))
            sends(5, 1_000)
            a.qp.modify(toState(QueuePairState.ERR))
            a.take(5).count { !it.isSuccess } shouldBe 4
            a.qp.modify(toState(QueuePairState.RESET))
            fabric.clock().advance(Duration.ofSeconds(5))
        }

        test("should send datagrams no faster than it is told") {
            val fabric = EmbeddedFabric.virtual(1)
            val (a, b) = List(2) { End(fabric.addDevice(), UD, 4_096) }
            fabric.use {
                listOf(a, b).forEach { it.qp.activate(ConnectOptions.DEFAULTS) }
                val address = a.qp.addressHandle(b.qp.endpoint(), ConnectOptions.DEFAULTS)
                a.qp.limitRate(RateLimit.ofKbps(8_000))
                repeat(10) { b.qp.postReceive(it.toLong(), b.mr.slice(0, 2_000)) }
                repeat(10) { index ->
                    a.post {
                        send(index.toLong())
                            .from(a.mr.slice(0, 1_000))
                            .to(address, b.qp.number(), ConnectOptions.DEFAULT_QKEY)
                            .signaled()
                    }
                }
                b.take(10)
                fabric.clock().elapsed().shouldBeBetween(Duration.ofMillis(9), Duration.ofMillis(11))
                listOf(a, b).forEach { it.close() }
            }
        }

        sentence("should wait for the rate, and not for answers, before it sends again what had no receive") {
            a.qp.limitRate(RateLimit.ofKbps(500))
            a.post { send(1).from(a.mr.slice(0, 60_000)).signaled() }
            fabric.clock().advance(Duration.ofMillis(100))
            b.qp.postReceive(1, b.mr.slice(0, 60_000))
            a.take(1).single().isSuccess shouldBe true
            a.qp.counters()["local_ack_timeout_err"] shouldBe 0
        }

        sentence("should refuse a rate above its highest, and a queue pair that is not ready to send") {
            val limits = a.context.queryDeviceEx().packetPacing()
            listOf(RC, UC, UD).all { it.isIn(limits.queuePairTypes()) } shouldBe true

            fun refusal(
                qp: QueuePair,
                kbps: Long,
            ) = shouldThrow<RdmaSystemException> { qp.limitRate(RateLimit.ofKbps(kbps)) }.errnoName()
            refusal(a.qp, limits.maxKbps() + 1L) shouldBe "EINVAL"
            a.qp.limitRate(RateLimit.ofKbps(limits.maxKbps().toLong()))
            a.qp.limitRate(RateLimit.ofKbps(limits.minKbps().toLong()))
            a.qp.modify(toState(QueuePairState.ERR))
            refusal(a.qp, 1) shouldBe "EINVAL"
            fabric.inject(Failure.of(Operation.MODIFY_RATE_LIMIT, Errno.EIO))
            refusal(b.qp, 1) shouldBe "EIO"
        }
    })
