package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeGreaterThanOrEqualTo
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletions
import org.kverbs.attributes.QueuePairType.RC
import java.time.Duration.ZERO
import java.time.Duration.ofMillis
import java.time.Duration.ofSeconds
import java.util.function.Consumer

/** A queue pair whose completions are announced on a channel, on a fabric of virtual time. */
private class Announced(
    val pair: Pair,
) {
    val channel: CompletionChannel = pair.a.context.completionChannel()
    val cq: CompletionQueue = pair.a.context.completionQueue(CompletionQueueAttributes(64, channel, 0))
    private val qp: QueuePair = pair.a.pd.queuePair(QueuePairInitAttributes.of(RC, cq))
    private val batch = WorkCompletions(64)

    init {
        val peer = pair.b.pd.queuePair(QueuePairInitAttributes.of(RC, pair.b.cq))
        qp.connect(peer.endpoint())
        peer.connect(qp.endpoint())
    }

    /** Writes to the peer, and waits until the completions are in the queue. */
    fun write(count: Int) {
        val before = cq.poll(batch)
        before shouldBe 0
        repeat(count) { index ->
            qp.postWith(
                Consumer { it.write(index.toLong(), pair.b.mr.remote()).from(pair.a.mr.slice(0, 8)).signaled() },
            )
        }
    }

    fun take(count: Int) {
        var got = 0
        while (got < count) got += cq.poll(batch)
        got shouldBe count
    }

    val now get() = pair.fabric.clock().elapsed()
}

class ModerationSpec :
    FunSpec({
        fun sentence(
            name: String,
            body: Announced.() -> Unit,
        ) = test(name) { Pair(EmbeddedFabric.virtual(1)).use { Announced(it).body() } }

        sentence("should announce as many completions as it was told with one event") {
            cq.moderate(4, ofMillis(50))
            cq.arm()
            write(4)
            channel.awaitEvent(ofSeconds(1)) shouldBe cq
            now shouldBeLessThan ofMillis(50)
            take(4)
            channel.awaitEvent(ofMillis(200)).shouldBeNull()
        }

        sentence("should announce fewer when the time since the first of them is over") {
            cq.moderate(4, ofMillis(50))
            cq.arm()
            write(3)
            channel.awaitEvent(ofMillis(40)).shouldBeNull()
            channel.awaitEvent(ofSeconds(1)) shouldBe cq
            now shouldBeGreaterThanOrEqualTo ofMillis(50)
            now shouldBeLessThan ofMillis(60)
        }

        sentence("should count from each call of arm anew") {
            cq.moderate(2, ofMillis(50))
            repeat(3) {
                cq.arm()
                write(2)
                channel.awaitEvent(ofSeconds(1)) shouldBe cq
                take(2)
            }
            cq.arm()
            write(1)
            channel.awaitEvent(ofMillis(40)).shouldBeNull()
        }

        sentence("should announce what waits when the moderation ends or is narrowed") {
            for ((count, period) in listOf(0 to ofMillis(50), 4 to ZERO, 1 to ofMillis(50), 2 to ofMillis(50))) {
                cq.moderate(4, ofMillis(50))
                cq.arm()
                write(2)
                channel.awaitEvent(ofMillis(10)).shouldBeNull()
                cq.moderate(count, period)
                channel.awaitEvent(ofMillis(10)) shouldBe cq
                take(2)
            }
        }

        sentence("should forget what waits when the queue is closed") {
            val other = pair.a.context.completionQueue(CompletionQueueAttributes(16, channel, 0))
            other.moderate(4, ofMillis(50))
            other.arm()
            other.close()
            channel.awaitEvent(ofMillis(100)).shouldBeNull()
        }

        sentence("should tell its limits") {
            val limits = pair.a.context.queryDeviceEx().cqModeration()
            limits.maxCount() shouldBe 65_535
            limits.maxPeriod() shouldBe 65_535
        }
    })
