package org.kverbs.acceptance.newer

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Device
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.acceptance.contract.pattern
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.MemorySegment
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource.Monotonic

/** The source, which each of the request's entries names. */
private const val PART = 64L shl 20
private const val PARTS = 32
private const val WHOLE = PART * PARTS
private val PATIENCE = 6.minutes

/** Checks the longest message that InfiniBand has, on Soft-RoCE, which has it since Linux 6.3; before that it has 8 MiB. */
internal class LargeMessageSpec :
    FunSpec({
        test("should write 2 GiB by one request") {
            Device.byName("rxe0").open().use { context ->
                context.protectionDomain().use { pd -> writeWhole(pd) }
            }
        }
    })

private fun writeWhole(pd: ProtectionDomain) {
    val context = pd.context()
    val cq = context.completionQueue(CompletionQueueAttributes.of(16))
    val attributes =
        QueuePairInitAttributes.of(QueuePairType.RC, cq).with(QueuePairCapabilities(4, 4, PARTS, 1, 0))
    val (a, b) = List(2) { pd.queuePair(attributes) }
    val source = pd.memoryRegion(PART, AccessFlag.LOCAL_WRITE)
    val target = pd.memoryRegion(WHOLE, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
    source.use {
        target.use {
            a.use {
                b.use {
                    a.connect(b.endpoint())
                    b.connect(a.endpoint())
                    val bytes = MemorySegment.ofArray(pattern(PART.toInt(), 1))
                    source.memory().copyFrom(bytes)
                    val requests = SendRequests()
                    requests.write(1, target.remote())
                    repeat(PARTS) { requests.from(source.slice()) }
                    a.post(requests.signaled())
                    val done = cq.await()
                    withClue(done) { done.isSuccess shouldBe true }
                    (0 until PARTS).map { target.memory().asSlice(it * PART, PART).mismatch(bytes) } shouldBe
                        List(PARTS) { -1L }
                }
            }
        }
    }
    cq.close()
}

private fun CompletionQueue.await(): WorkCompletion {
    val batch = WorkCompletions(1)
    val start = Monotonic.markNow()
    while (poll(batch) == 0) {
        check(start.elapsedNow() < PATIENCE) { "the message did not complete within $PATIENCE" }
        Thread.sleep(1)
    }
    return batch.get(0)
}
