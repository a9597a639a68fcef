package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeInRange
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.QueuePair
import org.kverbs.WorkCompletions
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.RateLimit
import java.time.Duration
import kotlin.random.Random

private val SMALL = ConnectOptions.builder().pathMtu(Mtu.MTU_256).timeout(10).build()

/** The receiver takes a packet in a microsecond: 2 Gb/s of packets of 256 bytes. */
private val BOTTLENECK = Faults.NONE.slowReceiver(1_000_000).delay(Duration.ofNanos(2_000))
private const val MESSAGE = 4_096L

/** Several senders, each on a device of its own, that write to one device without an end. */
private class Incast(
    val fabric: EmbeddedFabric,
    senders: Int,
    type: QueuePairType = RC,
) : AutoCloseable {
    val target = fabric.addDevice()
    val ends =
        List(senders) {
            val a = End(fabric.addDevice(), type, MESSAGE)
            val b = End(target, type, MESSAGE)
            a.qp.connect(b.qp.endpoint(SMALL), SMALL)
            b.qp.connect(a.qp.endpoint(SMALL), SMALL)
            a.qp.limitRate(RateLimit.ofKbps(1_000_000)) // the rate of the sender's own link
            a to b
        }
    val done = IntArray(senders)
    private val batch = WorkCompletions(64)

    /** Keeps a few messages posted on each sender, until the time has passed. */
    fun run(time: Duration) {
        val end = fabric.clock().elapsed() + time
        val posted = done.copyOf()
        while (fabric.clock().elapsed() < end) {
            ends.forEachIndexed { i, (a, b) ->
                while (posted[i] - done[i] < 4) {
                    a.post { write(posted[i].toLong(), b.mr.remote()).from(a.mr.slice()).signaled() }
                    posted[i]++
                }
            }
            fabric.clock().advance(Duration.ofNanos(10_000))
            ends.forEachIndexed { i, (a, _) ->
                repeat(a.cq.poll(batch)) { batch.get(it).isSuccess shouldBe true }.also { }
                done[i] += batch.size()
            }
        }
    }

    fun sum(name: String): Long = ends.sumOf { (a, b) -> a.qp[name] + b.qp[name] }

    override fun close() {
        ends.forEach { (a, b) -> listOf(a, b).forEach(End::close) }
        fabric.close()
    }
}

/** Checks congestion control over networks that mark packets, in virtual time. */
class CongestionSpec :
    FunSpec({
        for (type in listOf(RC, UC)) {
            test("should keep the queue of a receiver short, drop nothing, and share its rate, on $type") {
                Incast(EmbeddedFabric.virtual(1), 4, type).use { incast ->
                    incast.fabric.setFaults(BOTTLENECK.markingFrom(32))
                    incast.run(Duration.ofMillis(60))
                    val told = incast.done.toList()
                    println("$type: $told longest ${incast.fabric.longestQueue(incast.target)} drops " +
                        "${incast.fabric.faultsInjected()} ${incast.ends.map { it.first.qp["rp_rate_kbps"] }} " +
                        "cnp ${incast.sum("np_cnp_sent")} marked ${incast.sum("np_ecn_marked_roce_packets")}")
                    incast.fabric.faultsInjected() shouldBe 0
                    incast.fabric.longestQueue(incast.target) shouldBeLessThan Faults.QUEUE * 3 / 4
                    incast.sum("np_ecn_marked_roce_packets") shouldBeGreaterThan incast.sum("np_cnp_sent")
                    incast.sum("rp_cnp_handled") shouldBeGreaterThan 0
                    // Of 60,000 packets, 16 for each message, the bottleneck is busy with most.
                    told.sum() shouldBeInRange 2_500..3_750
                    told.min() * 2 shouldBeInRange told.max()..Int.MAX_VALUE
                }
            }
        }

        test("should fill the queue and drop packets where the network marks none") {
            Incast(EmbeddedFabric.virtual(1), 4).use { incast ->
                incast.fabric.setFaults(BOTTLENECK)
                incast.run(Duration.ofMillis(60))
                println("none: ${incast.done.toList()} longest ${incast.fabric.longestQueue(incast.target)} drops " +
                    "${incast.fabric.faultsInjected()}")
                incast.fabric.faultsInjected() shouldBeGreaterThan 0
                incast.fabric.longestQueue(incast.target) shouldBeInRange Faults.QUEUE..Faults.QUEUE + 1
                incast.sum("np_cnp_sent") shouldBe 0
            }
        }

        test("should do so on a slow network, too, whose packets take longer than the periods of the control") {
            Incast(EmbeddedFabric.virtual(1), 4).use { incast ->
                incast.ends.forEach { (a, _) -> a.qp.limitRate(RateLimit.ofKbps(10_000)) }
                incast.fabric.setFaults(Faults.NONE.slowReceiver(10_000).markingFrom(32))
                incast.run(Duration.ofSeconds(6))
                println("slow: ${incast.done.toList()} longest ${incast.fabric.longestQueue(incast.target)} drops " +
                    "${incast.fabric.faultsInjected()} ${incast.ends.map { it.first.qp["rp_rate_kbps"] }}")
                incast.fabric.faultsInjected() shouldBe 0
                incast.done.sum() shouldBeInRange 2_500..3_750
            }
        }

        test("should send as fast as before when the congestion is over") {
            Pair(EmbeddedFabric.virtual(1), options = SMALL).use { pair ->
                val (a, b) = pair
                pair.fabric.setFaults(Faults.NONE.marking(1.0))
                a.post { write(1, b.mr.remote()).from(a.mr.slice()).signaled() }
                a.take(1).single().isSuccess shouldBe true
                a.qp["rp_rate_kbps"] shouldBeInRange 1L..1_250_000L
                pair.fabric.setFaults(Faults.NONE)
                pair.fabric.clock().advance(Duration.ofSeconds(10))
                a.qp["rp_rate_kbps"] shouldBe 0
                val before = a.qp.counters()
                a.post { write(2, b.mr.remote()).from(a.mr.slice()).signaled() }
                a.take(1).single().isSuccess shouldBe true
                a.qp["rp_cnp_handled"] shouldBe before["rp_cnp_handled"]
            }
        }

        test("should cut the rate of answers to reads, too, whose data the network marks") {
            Pair(EmbeddedFabric.virtual(1), options = SMALL).use { pair ->
                val (a, b) = pair
                pair.fabric.setFaults(pair.server, pair.client, Faults.NONE.marking(1.0))
                b.fill(7)
                repeat(16) {
                    a.post { read(1, b.mr.remote()).into(a.mr.slice()).signaled() }
                    a.take(1).single().isSuccess shouldBe true
                }
                a.bytes() shouldBe b.bytes()
                b.qp["rp_cnp_handled"] shouldBeGreaterThan 0
                b.qp["rp_rate_kbps"] shouldBeInRange 1L..1_250_000L
                a.qp["rp_rate_kbps"] shouldBe 0
                a.qp["np_cnp_sent"] shouldBe b.qp["rp_cnp_handled"] + b.qp["rp_cnp_ignored"]
            }
        }

        test("should lose and repeat nothing over a bad line that marks packets") {
            repeat(4) { seed ->
                Pair(EmbeddedFabric.virtual(seed + 1L), options = patient).use { pair ->
                    pair.fabric.setFaults(Faults.BAD_LINE.marking(0.2))
                    exchange(pair, Random(seed))
                    pair.a.qp["rp_cnp_handled"] shouldBeGreaterThan 0
                }
            }
        }

        test("should do nothing where nothing marks") {
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                pair.fabric.setFaults(Faults.BAD_LINE)
                exchange(pair, Random(1))
                listOf(pair.client, pair.server)
                    .map { it.counters() }
                    .forEach { counters ->
                        counters.filterKeys { it.startsWith("np_") || it.startsWith("rp_") }.values.sum() shouldBe 0
                    }
            }
        }

        test("should refuse marks that no network makes") {
            shouldThrow<IllegalArgumentException> { Faults.NONE.marking(1.5) }.message shouldContain "marking is 1.5"
            shouldThrow<IllegalArgumentException> { Faults.NONE.markingFrom(257) }.message shouldContain
                "markingFrom is 257"
            shouldThrow<IllegalArgumentException> { Faults.NONE.markingFrom(-1) }.message shouldContain "0 (never)"
        }
    })
