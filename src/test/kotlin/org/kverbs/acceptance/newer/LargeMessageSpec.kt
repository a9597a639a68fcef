package org.kverbs.acceptance.newer

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Device
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePairInitAttributes
import org.kverbs.ReceiveRequests
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletions
import org.kverbs.acceptance.contract.pattern
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.MemorySegment
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource.Monotonic

/** What each entry of the two requests names. */
private const val PART = 2L shl 20
private const val PARTS = 32
private const val WHOLE = PART * PARTS
private val PATIENCE = 4.minutes

/**
 * Checks a message that Soft-RoCE of Linux 6.1 does not take, which ends at 8 MiB. The longest message of InfiniBand
 * has 2 GiB; the emulated machine takes longer for it than a test may.
 */
internal class LargeMessageSpec :
    FunSpec({
        test("should send 64 MiB by one request") {
            Device.byName("rxe0").open().use { context ->
                context.protectionDomain().use { pd -> sendWhole(pd) }
            }
        }
    })

private fun sendWhole(pd: ProtectionDomain) {
    val cq = pd.context().completionQueue(CompletionQueueAttributes.of(16))
    val attributes =
        QueuePairInitAttributes.of(QueuePairType.RC, cq).with(QueuePairCapabilities(4, 4, PARTS, PARTS, 0))
    val (a, b) = List(2) { pd.queuePair(attributes) }
    val (source, target) = List(2) { pd.memoryRegion(PART, AccessFlag.LOCAL_WRITE) }
    val bytes = MemorySegment.ofArray(pattern(PART.toInt(), 1))
    try {
        a.connect(b.endpoint())
        b.connect(a.endpoint())
        source.memory().copyFrom(bytes)
        val receive = ReceiveRequests().receive(2)
        val send = SendRequests().send(1)
        repeat(PARTS) {
            receive.into(target.slice())
            send.from(source.slice())
        }
        b.postReceive(receive)
        a.post(send.signaled())
        val done = List(2) { cq.awaitOne() }.associateBy { it.workRequestId() }
        withClue(done) {
            done.values.map { it.status() } shouldBe listOf(SUCCESS, SUCCESS)
            done.getValue(2).byteLength() shouldBe WHOLE
        }
        target.memory().mismatch(bytes) shouldBe -1
    } finally {
        listOf(a, b, source, target, cq).forEach { it.close() }
    }
}

private fun CompletionQueue.awaitOne(): WorkCompletion {
    val batch = WorkCompletions(1)
    val start = Monotonic.markNow()
    while (poll(batch) == 0) {
        check(start.elapsedNow() < PATIENCE) { "the message did not complete within $PATIENCE" }
        Thread.sleep(1)
    }
    return batch.get(0).copy()
}
