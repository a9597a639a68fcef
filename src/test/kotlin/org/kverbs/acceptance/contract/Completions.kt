package org.kverbs.acceptance.contract

import io.kotest.assertions.fail
import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueue
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletions
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/** The time that a case waits; far longer than any step takes, even in an emulated machine. */
internal val DEADLINE = 20.seconds

/** Waits until [condition] holds; fails with [what] when [deadline] has passed. */
internal fun await(
    what: String,
    deadline: Duration = DEADLINE,
    condition: () -> Boolean,
) {
    val start = TimeSource.Monotonic.markNow()
    while (!condition()) {
        if (start.elapsedNow() > deadline) fail("$what: not within $deadline")
        Thread.sleep(0, 50_000)
    }
}

/** Polls until there are [count] completions, and returns them in order. */
internal fun CompletionQueue.take(count: Int): List<WorkCompletion> {
    val found = mutableListOf<WorkCompletion>()
    val batch = WorkCompletions(16)
    await("$count completions, of which there are") {
        repeat(poll(batch)) { found += batch.get(it).copy() }
        found.size >= count
    }
    withClue("more completions than expected: $found") { found.size shouldBe count }
    return found
}

internal fun CompletionQueue.takeOne(): WorkCompletion = take(1).single()

/** Checks that no completion comes within a while. */
internal fun CompletionQueue.shouldStayEmpty() {
    withClue("completions that should not be there") { pollFor(50.milliseconds) shouldBe emptyList() }
}

/** Polls for a while, until there is a completion, and returns what came. */
internal fun CompletionQueue.pollFor(time: Duration): List<WorkCompletion> {
    val batch = WorkCompletions(16)
    val start = TimeSource.Monotonic.markNow()
    while (start.elapsedNow() < time) {
        val count = poll(batch)
        if (count > 0) return List(count) { batch.get(it).copy() }
        Thread.sleep(1)
    }
    return emptyList()
}

/** Checks a success; [bytes] is left out where the C interface does not define it, as for sends and writes. */
internal fun WorkCompletion.shouldBeDone(
    id: Long,
    opcode: WorkCompletionOpcode,
    on: QueuePair,
    bytes: Long? = null,
    immediate: Int? = null,
) = shouldBeDone(id, opcode, on.number(), bytes, immediate)

/** Checks a success on the queue pair with a number; see the other function. */
internal fun WorkCompletion.shouldBeDone(
    id: Long,
    opcode: WorkCompletionOpcode,
    on: Int,
    bytes: Long? = null,
    immediate: Int? = null,
) = withClue("$this with flags ${flags()}") {
    status() shouldBe WorkCompletionStatus.SUCCESS
    workRequestId() shouldBe id
    opcode() shouldBe opcode
    opcode.isReceive shouldBe (opcode == WorkCompletionOpcode.RECV || opcode == WorkCompletionOpcode.RECV_RDMA_WITH_IMM)
    queuePairNumber() shouldBe on
    bytes?.let { byteLength() shouldBe it }
    if (opcode.isReceive) {
        hasImmediate() shouldBe (immediate != null)
        immediate?.let { immediate() shouldBe it }
    }
}

/** Checks a failure. */
internal fun WorkCompletion.shouldHaveFailed(
    id: Long,
    status: WorkCompletionStatus,
    on: QueuePair,
) = withClue(toString()) {
    status() shouldBe status
    workRequestId() shouldBe id
    queuePairNumber() shouldBe on.number()
    isSuccess shouldBe false
}

/** Returns bytes that differ from their neighbours, and from those of another seed. */
internal fun pattern(
    size: Int,
    seed: Int = 1,
): ByteArray = ByteArray(size) { (it * 31 + (it shr 8) * 17 + seed * 101).toByte() }

internal fun MemoryRegion.put(
    bytes: ByteArray,
    offset: Long = 0,
) {
    MemorySegment.copy(bytes, 0, memory(), ValueLayout.JAVA_BYTE, offset, bytes.size)
}

internal fun MemoryRegion.bytes(
    size: Int,
    offset: Long = 0,
): ByteArray = memory().asSlice(offset, size.toLong()).toArray(ValueLayout.JAVA_BYTE)

internal fun MemoryRegion.long(offset: Long = 0): Long = memory().get(ValueLayout.JAVA_LONG, offset)

internal fun MemoryRegion.putLong(
    value: Long,
    offset: Long = 0,
) = memory().set(ValueLayout.JAVA_LONG, offset, value)
