package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeInRange
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletions
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.RateLimit
import java.time.Duration
import kotlin.random.Random

private val SMALL = ConnectOptions.builder().pathMtu(Mtu.MTU_256).timeout(10).build()

/** The receiver takes a packet in a microsecond: 2 Gb/s of packets of 256 bytes. */
private val BOTTLENECK = Faults.NONE.slowReceiver(1_000_000).delay(Duration.ofNanos(2_000))
private const val MESSAGE = 4_096L

/** The messages of 16 packets that the bottleneck takes in the time of a spec: 60,000 packets. */
private const val MOST = 3_750

/** How many messages each sender keeps posted: more packets than its window has. */
private const val POSTED = 16

/** Several senders, each on a device of its own, that write to one device without an end. */
private class Incast(
    val fabric: EmbeddedFabric,
    senders: Int,
) : AutoCloseable {
    val target = fabric.addDevice()
    val ends =
        List(senders) {
            val a = End(fabric.addDevice(), RC, MESSAGE)
            val b = End(target, RC, MESSAGE)
            a.qp.connect(b.qp.endpoint(SMALL), SMALL)
            b.qp.connect(a.qp.endpoint(SMALL), SMALL)
            a.qp.limitRate(RateLimit.ofKbps(1_000_000)) // the rate of the sender's own link
            a to b
        }
    val done = IntArray(senders)

    /** Which senders send. */
    var sending = 0..<senders
    private val posted = IntArray(senders)
    private val batch = WorkCompletions(64)

    /** Keeps a few messages posted on each sender, until the time has passed. */
    fun run(time: Duration) {
        val end = fabric.clock().elapsed() + time
        while (fabric.clock().elapsed() < end) {
            ends.forEachIndexed { i, (a, b) ->
                while (i in sending && posted[i] - done[i] < POSTED) {
                    a.post { write(posted[i].toLong(), b.mr.remote()).from(a.mr.slice()).signaled() }
                    posted[i]++
                }
            }
            fabric.clock().advance(Duration.ofNanos(10_000))
            ends.forEachIndexed { i, (a, _) ->
                repeat(a.cq.poll(batch)) {
                    batch.get(it).status() shouldBe SUCCESS
                    done[i]++
                }
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
        test("should count as waiting what has arrived, and not what is on its way") {
            Incast(EmbeddedFabric.virtual(1), 1).use { incast ->
                incast.fabric.setFaults(Faults.NONE.slowReceiver(1_000_000).delay(Duration.ofMillis(1)).markingFrom(64))
                incast.run(Duration.ofMillis(20))
                incast.fabric.longestQueue(incast.target) shouldBeLessThan 256
                incast.sum("np_ecn_marked_roce_packets") shouldBe 0
            }
        }

        test("should take a receiver of more than a packet in a nanosecond for one of that rate") {
            Incast(EmbeddedFabric.virtual(1), 1).use { incast ->
                incast.fabric.setFaults(Faults.NONE.slowReceiver(2_000_000_000))
                incast.run(Duration.ofMillis(1))
                incast.done[0] shouldBeGreaterThan 10
            }
        }

        test("should answer reads at once when the network no longer marks, whatever the rate was") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val a = End(fabric.addDevice(), RC, MESSAGE)
                val b = End(fabric.addDevice(), RC, MESSAGE)
                a.qp.connect(b.qp.endpoint(SMALL), SMALL)
                b.qp.connect(a.qp.endpoint(SMALL), SMALL)
                fabric.setFaults(Faults.NONE.marking(1.0))
                repeat(20) { a.post { read(1, b.mr.remote()).into(a.mr.slice()).signaled() } }
                fabric.clock().advance(Duration.ofMillis(5))
                fabric.setFaults(Faults.NONE)
                repeat(3) { a.post { read(1, b.mr.remote()).into(a.mr.slice()).signaled() } }
                fabric.clock().advance(Duration.ofSeconds(5))
                val batch = WorkCompletions(64)
                a.cq.poll(batch) shouldBe 23
                repeat(23) { batch.get(it).status() shouldBe SUCCESS }
                listOf(a, b).forEach(End::close)
            }
        }

        test("should keep the queue of a receiver short, drop nothing, and share its rate") {
            Incast(EmbeddedFabric.virtual(1), 4).use { incast ->
                incast.fabric.setFaults(BOTTLENECK.markingFrom(32))
                incast.run(Duration.ofMillis(60))
                incast.fabric.faultsInjected() shouldBe 0
                incast.fabric.longestQueue(incast.target) shouldBeLessThan Faults.QUEUE / 2
                incast.sum("retrans_pkts") shouldBe 0
                incast.sum("np_ecn_marked_roce_packets") shouldBeGreaterThan incast.sum("np_cnp_sent")
                incast.sum("rp_cnp_handled") shouldBeGreaterThan 0
                withClue(incast.done.toList()) {
                    incast.done.sum() shouldBeInRange MOST * 8 / 10..MOST
                    incast.done.min() * 3 / 2 shouldBeGreaterThan incast.done.max()
                }
            }
        }

        test("should leave room to a sender that comes later, and take it again when one ends") {
            Incast(EmbeddedFabric.virtual(1), 3).use { incast ->
                incast.fabric.setFaults(BOTTLENECK.markingFrom(32))
                incast.sending = 0..1
                incast.run(Duration.ofMillis(40))
                val before = incast.done.copyOf()
                incast.sending = 0..2
                incast.run(Duration.ofMillis(100))
                val late = List(3) { incast.done[it] - before[it] }
                withClue(late) { late.min() * 2 shouldBeGreaterThan late.max() }
                incast.sending = 0..0
                incast.run(Duration.ofMillis(100))
                incast.ends[0].first.qp["rp_rate_kbps"] shouldBe 0
                incast.fabric.faultsInjected() shouldBe 0
            }
        }

        test("should come back from deep cuts, when many senders begin at once") {
            Incast(EmbeddedFabric.virtual(1), 8).use { incast ->
                incast.fabric.setFaults(BOTTLENECK.markingFrom(32))
                incast.run(Duration.ofMillis(60))
                incast.fabric.faultsInjected() shouldBe 0
                withClue(incast.done.toList()) {
                    incast.done.sum() shouldBeInRange MOST * 7 / 10..MOST
                    incast.done.min() * 4 shouldBeGreaterThan incast.done.max() // a deep cut would leave a tenth
                }
            }
        }

        test("should fill the queue, drop packets and send them again where the network marks none") {
            Incast(EmbeddedFabric.virtual(1), 4).use { incast ->
                incast.fabric.setFaults(BOTTLENECK)
                incast.run(Duration.ofMillis(60))
                incast.fabric.faultsInjected() shouldBeGreaterThan 0
                incast.fabric.longestQueue(incast.target) shouldBeInRange Faults.QUEUE..Faults.QUEUE + 1
                incast.sum("retrans_pkts") shouldBeGreaterThan 0
                incast.sum("np_cnp_sent") shouldBe 0
            }
        }

        test("should do so on a slow network, too, whose packets take longer than the periods of the control") {
            Incast(EmbeddedFabric.virtual(1), 4).use { incast ->
                incast.ends.forEach { (a, _) -> a.qp.limitRate(RateLimit.ofKbps(10_000)) }
                incast.fabric.setFaults(Faults.NONE.slowReceiver(10_000).markingFrom(32))
                incast.run(Duration.ofSeconds(6))
                incast.fabric.faultsInjected() shouldBe 0
                withClue(incast.done.toList()) {
                    incast.done.sum() shouldBeInRange MOST / 2..MOST
                    incast.done.min() * 3 / 2 shouldBeGreaterThan incast.done.max()
                }
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
                pair.fabric.clock().advance(Duration.ofNanos(100_000)) // the last notification is on its way
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
