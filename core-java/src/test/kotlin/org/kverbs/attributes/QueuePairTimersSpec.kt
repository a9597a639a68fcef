package org.kverbs.attributes

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeSortedWith
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.comparables.shouldBeBetween
import io.kotest.matchers.shouldBe
import io.kotest.property.Arb
import io.kotest.property.arbitrary.long
import io.kotest.property.checkAll
import java.time.Duration

class QueuePairTimersSpec :
    FunSpec({
        val rnrOrder = (1..31).toList() + 0

        test("should count acknowledgement timeouts in doublings of 4.096 microseconds") {
            QueuePairTimers.ackTimeout(1) shouldBe Duration.ofNanos(8_192)
            QueuePairTimers.ackTimeout(14) shouldBe Duration.ofNanos(67_108_864)
            QueuePairTimers.ackTimeout(31) shouldBe Duration.ofNanos(8_796_093_022_208)
        }

        test("should find the shortest acknowledgement timeout that is long enough") {
            checkAll(1000, Arb.long(1L..8_796_093_022_208L)) { nanos ->
                val code = QueuePairTimers.ackTimeoutCode(Duration.ofNanos(nanos))
                val shorter = if (code == 1) 1L else QueuePairTimers.ackTimeout(code - 1).toNanos() + 1
                nanos.shouldBeBetween(shorter, QueuePairTimers.ackTimeout(code).toNanos())
            }
        }

        test("should return each timer code for its own time") {
            (1..31).map { QueuePairTimers.ackTimeoutCode(QueuePairTimers.ackTimeout(it)) } shouldContainExactly
                (1..31).toList()
            (0..31).map { QueuePairTimers.rnrTimerCode(QueuePairTimers.rnrTimer(it)) } shouldContainExactly
                (0..31).toList()
        }

        test("should know the receiver-not-ready times of the specification") {
            QueuePairTimers.rnrTimer(0) shouldBe Duration.ofNanos(655_360_000)
            QueuePairTimers.rnrTimer(1) shouldBe Duration.ofNanos(10_000)
            QueuePairTimers.rnrTimer(12) shouldBe Duration.ofNanos(640_000)
            QueuePairTimers.rnrTimer(31) shouldBe Duration.ofNanos(491_520_000)
            rnrOrder.map { QueuePairTimers.rnrTimer(it) } shouldBeSortedWith naturalOrder()
        }

        test("should find the shortest receiver-not-ready time that is long enough") {
            checkAll(1000, Arb.long(0L..655_360_000L)) { nanos ->
                val place = rnrOrder.indexOf(QueuePairTimers.rnrTimerCode(Duration.ofNanos(nanos)))
                val shorter = if (place == 0) 0L else QueuePairTimers.rnrTimer(rnrOrder[place - 1]).toNanos() + 1
                nanos.shouldBeBetween(shorter, QueuePairTimers.rnrTimer(rnrOrder[place]).toNanos())
            }
        }

        test("should refuse times and codes that do not exist") {
            val wrong =
                mapOf<String, () -> Any>(
                    "acknowledgement timeout PT0S is out of range: more than zero, up to PT2H26M36.093022208S" to
                        { QueuePairTimers.ackTimeoutCode(Duration.ZERO) },
                    "acknowledgement timeout PT3H is out of range: more than zero, up to PT2H26M36.093022208S" to
                        { QueuePairTimers.ackTimeoutCode(Duration.ofHours(3)) },
                    "acknowledgement timeout code 0 is out of range: 1 to 31" to { QueuePairTimers.ackTimeout(0) },
                    "acknowledgement timeout code 32 is out of range: 1 to 31" to { QueuePairTimers.ackTimeout(32) },
                    "receiver-not-ready time PT1S is out of range: zero to PT0.65536S" to
                        { QueuePairTimers.rnrTimerCode(Duration.ofSeconds(1)) },
                    "receiver-not-ready time PT-0.000000001S is out of range: zero to PT0.65536S" to
                        { QueuePairTimers.rnrTimerCode(Duration.ofNanos(-1)) },
                    "receiver-not-ready timer code 32 is out of range: 0 to 31" to { QueuePairTimers.rnrTimer(32) },
                )
            wrong.forEach { (message, call) ->
                shouldThrow<IllegalArgumentException> { call() }.message shouldBe message
            }
        }
    })
