package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.SharedReceiveQueue
import org.kverbs.TagHeader
import org.kverbs.TagList
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.TM_ADD
import org.kverbs.WorkCompletionOpcode.TM_DEL
import org.kverbs.WorkCompletionOpcode.TM_NO_TAG
import org.kverbs.WorkCompletionOpcode.TM_RECV
import org.kverbs.WorkCompletionOpcode.TM_SYNC
import org.kverbs.WorkCompletionStatus.LOC_LEN_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.TM_ERR
import org.kverbs.acceptance.contract.Capability.TAG_MATCHING
import org.kverbs.attributes.CompletionField.TAG_INFO
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.MemorySegment

/** Checks shared receive queues that give a message to the buffer of its tag. */
internal class TagMatchingSpec :
    ContractSpec({
        case("should give each message to the first buffer of its tag, without the header", TAG_MATCHING) {
            val ends = tagged()
            val list = ends.tags
            list.add(1, 0x10, -1, ends.mr.slice(0, 100))
            list.add(2, 0x20, 0xf0, ends.mr.slice(100, 100))
            list.add(3, 0x20, -1, ends.mr.slice(200, 100))
            ends.sendEager(0x20, 7, pattern(50, seed = 1))
            ends.take().shouldBeMatched(2, 50, 0x20, 7)
            ends.sendEager(0x20, 8, pattern(60, seed = 2))
            ends.take().shouldBeMatched(3, 60, 0x20, 8)
            ends.sendEager(0x10, -1, pattern(100, seed = 3))
            ends.take().shouldBeMatched(1, 100, 0x10, -1)
            ends.mr.bytes(50, 100) shouldBe pattern(50, seed = 1)
            ends.mr.bytes(60, 200) shouldBe pattern(60, seed = 2)
            ends.mr.bytes(100, 0) shouldBe pattern(100, seed = 3)
        }

        case("should put a message of many packets into its buffer", TAG_MATCHING) {
            val ends = tagged()
            ends.tags.add(1, 5, -1, ends.mr.slice(0, 12_000))
            ends.sendEager(5, 6, pattern(12_000))
            ends.take().shouldBeMatched(1, 12_000, 5, 6)
            ends.mr.bytes(12_000) shouldBe pattern(12_000)
        }

        case("should give an unexpected message to an ordinary receive, with its header", TAG_MATCHING) {
            val ends = tagged()
            ends.srq.postReceive(9, ends.mr.slice(0, 200))
            ends.sendEager(0x30, 4, pattern(20))
            ends.take().run {
                status() shouldBe SUCCESS
                opcode() shouldBe RECV
                workRequestId() shouldBe 9
                byteLength() shouldBe 36
                isTagMatched shouldBe false
                needsTagSync() shouldBe true
                matchedTag() shouldBe 0x30
            }
            val message = ends.mr.memory()
            TagHeader.operation(message) shouldBe TagHeader.Operation.EAGER
            TagHeader.tag(message) shouldBe 0x30
            TagHeader.data(message) shouldBe 4
            ends.mr.bytes(20, 16) shouldBe pattern(20)
        }

        case("should not match new buffers before the unexpected messages are handled", TAG_MATCHING) {
            val ends = tagged()
            ends.tags.add(1, 1, -1, ends.mr.slice(0, 100))
            ends.srq.postReceive(8, ends.mr.slice(1000, 100))
            ends.srq.postReceive(9, ends.mr.slice(2000, 100))
            ends.sendEager(2, 0, pattern(10))
            ends.take().workRequestId() shouldBe 8
            ends.tags.addSignaled(20, 2, 2, -1, ends.mr.slice(200, 100))
            ends.take().run {
                opcode() shouldBe TM_ADD
                workRequestId() shouldBe 20
                needsTagSync() shouldBe true
            }
            ends.sendEager(2, 0, pattern(10))
            ends.take().workRequestId() shouldBe 9
            ends.sendEager(1, 0, pattern(10))
            ends.take().shouldBeMatched(1, 10, 1, 0)
            ends.tags.handled(1)
            ends.tags.sync(21)
            ends.take().needsTagSync() shouldBe true
            ends.tags.handled(1)
            ends.tags.sync(22)
            ends.take().run {
                opcode() shouldBe TM_SYNC
                workRequestId() shouldBe 22
                needsTagSync() shouldBe false
            }
            ends.sendEager(2, 0, pattern(30))
            ends.take().shouldBeMatched(2, 30, 2, 0)
        }

        case("should take a buffer out of the list, and say that it is gone if a message took it", TAG_MATCHING) {
            val ends = tagged()
            val first = ends.tags.add(1, 1, -1, ends.mr.slice(0, 100))
            val second = ends.tags.add(2, 1, -1, ends.mr.slice(100, 100))
            ends.tags.remove(30, first)
            ends.take().run {
                opcode() shouldBe TM_DEL
                workRequestId() shouldBe 30
                status() shouldBe SUCCESS
            }
            shouldThrow<IllegalArgumentException> { ends.tags.remove(32, Int.MAX_VALUE) }.message shouldContain
                "is of no entry"
            ends.sendEager(1, 0, pattern(10))
            ends.tags.remove(31, second) // a handle is not the program's after the completion of its buffer
            val (received, removed) = ends.cq.take(2)
            received.shouldBeMatched(2, 10, 1, 0)
            removed.run {
                workRequestId() shouldBe 31
                status() shouldBe TM_ERR
            }
        }

        case("should give a message without a tag to an ordinary receive", TAG_MATCHING) {
            val ends = tagged()
            ends.tags.add(1, 0, 0, ends.mr.slice(0, 100))
            ends.srq.postReceive(9, ends.mr.slice(200, 100))
            ends.post(16) { TagHeader.noTag(it) }
            ends.take().run {
                opcode() shouldBe TM_NO_TAG
                workRequestId() shouldBe 9
                needsTagSync() shouldBe false
            }
            ends.sendEager(77, 0, pattern(1))
            ends.take().shouldBeMatched(1, 1, 77, 0)
        }

        case("should let the program carry out a rendezvous where the device does not", TAG_MATCHING) {
            if (context.queryDeviceEx().tagMatching().maxRendezvousHeader() != 0) return@case
            val ends = tagged()
            val payload = memory(4096)
            payload.put(pattern(4096))
            ends.srq.postReceive(9, ends.mr.slice(0, 100))
            ends.post(TagHeader.RENDEZVOUS_SIZE.toLong()) { TagHeader.rendezvous(it, 3, 1, payload.remote()) }
            ends.take().opcode() shouldBe RECV
            val header = ends.mr.memory()
            TagHeader.operation(header) shouldBe TagHeader.Operation.RENDEZVOUS
            TagHeader.payload(header) shouldBe payload.remote()
            ends.receiver.post { read(4, TagHeader.payload(header)).into(ends.mr.slice(4096, 4096)).signaled() }
            ends.receiver.cq.takeOne().opcode() shouldBe WorkCompletionOpcode.RDMA_READ
            ends.mr.bytes(4096, 4096) shouldBe pattern(4096)
            ends.sender.qp.postReceive(5, ends.sender.mr.slice(8192, 64))
            TagHeader.finish(header)
            ends.receiver.post { send(6).from(ends.mr.slice(0, 32)).signaled() }
            ends.receiver.cq.takeOne().status() shouldBe SUCCESS
            ends.sender.cq.takeOne().opcode() shouldBe RECV
            TagHeader.operation(ends.sender.mr.memory().asSlice(8192)) shouldBe TagHeader.Operation.FINISH
        }

        case("should fail a message that is longer than the buffer of its tag", TAG_MATCHING) {
            val ends = tagged()
            ends.tags.add(1, 1, -1, ends.mr.slice(0, 10))
            ends.sendEager(1, 0, pattern(11))
            ends.take().run {
                workRequestId() shouldBe 1
                status() shouldBe LOC_LEN_ERR
            }
        }

        case("should refuse a tag outside its mask, a full list, and queue pairs other than RC", TAG_MATCHING) {
            val ends = tagged(maxTags = 2)
            shouldThrow<RdmaSystemException> { ends.tags.add(1, 3, 1, ends.mr.slice(0, 10)) }.message shouldContain
                "ibv_post_srq_ops(shared receive queue with tag matching on ${device.name}, TAG_ADD, tag=0x3, mask=0x1)"
            repeat(2) { ends.tags.add(1, 1, 1, ends.mr.slice(0, 10)) }
            shouldThrow<RdmaSystemException> { ends.tags.add(1, 1, 1, ends.mr.slice(0, 10)) }.errnoName() shouldBe
                "ENOMEM"
            shouldThrow<IllegalArgumentException> { end(UC, srq = ends.srq) }.message shouldContain
                "RC queue pairs only"
        }

        case("should keep the places of operations until one that asks for a completion is polled", TAG_MATCHING) {
            val ends = tagged(maxOperations = 4)
            val buffer = ends.mr.slice(0, 10)
            repeat(3) { ends.tags.add(1, 1, -1, buffer) }
            ends.tags.addSignaled(7, 1, 1, -1, buffer)
            repeat(2) {
                shouldThrow<RdmaSystemException> { ends.tags.add(1, 1, -1, buffer) }.errnoName() shouldBe "ENOMEM"
                shouldThrow<RdmaSystemException> { ends.tags.sync(8) }.errnoName() shouldBe "ENOMEM"
            }
            ends.take().workRequestId() shouldBe 7
            repeat(4) { ends.tags.add(1, 1, -1, buffer) }
            // No operation asks for a completion any more, and none can.
            shouldThrow<RdmaSystemException> { ends.tags.sync(9) }.errnoName() shouldBe "ENOMEM"
        }

        case("should close the queue pairs before the queue, and the queue before its completion queue", TAG_MATCHING) {
            val ends = tagged()
            val list = ends.tags
            list.add(1, 1, -1, ends.mr.slice(0, 10))
            ends.cq.close()
            ends.srq.isOpen shouldBe false
            shouldThrow<IllegalStateException> { list.sync(1) }
        }
    })

private fun WorkCompletion.shouldBeMatched(
    id: Long,
    bytes: Long,
    tag: Long,
    data: Int,
) {
    status() shouldBe SUCCESS
    opcode() shouldBe TM_RECV
    workRequestId() shouldBe id
    byteLength() shouldBe bytes
    isTagMatched shouldBe true
    hasTagData() shouldBe true
    matchedTag() shouldBe tag
    matchedTagData() shouldBe data
}

/** A sender, and a receiver whose messages go to a queue with tag matching. */
private class TaggedEnds(
    val sender: End,
    val receiver: End,
    val srq: SharedReceiveQueue,
    val cq: CompletionQueue,
) {
    val tags: TagList = srq.tags().shouldNotBeNull()
    val mr = receiver.mr

    fun sendEager(
        tag: Long,
        data: Int,
        payload: ByteArray,
    ) = post(16L + payload.size) {
        TagHeader.eager(it, tag, data)
        MemorySegment.copy(MemorySegment.ofArray(payload), 0, it, 16, payload.size.toLong())
    }

    /** Sends a message, and waits until the receiver has it. */
    fun post(
        bytes: Long,
        write: (MemorySegment) -> Unit,
    ) {
        write(sender.mr.memory())
        sender.post { send(1).from(sender.mr.slice(0, bytes)).signaled() }
        sender.cq.takeOne().workRequestId() shouldBe 1
    }

    fun take(): WorkCompletion = cq.takeOne()
}

private fun Bench.tagged(
    maxTags: Int = 16,
    maxOperations: Int = 16,
): TaggedEnds {
    val cq = context.completionQueue(CompletionQueueAttributes.of(64).with(TAG_INFO))
    val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1), maxTags, maxOperations, cq)
    val (sender, receiver) = linked(b = end(srq = srq))
    return TaggedEnds(sender, receiver, srq, cq)
}
