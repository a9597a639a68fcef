package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.MemorySegment

/** Tests the calls of tag matching on a library that has them, and the headers of messages. */
class TagListSpec :
    FunSpec({
        onNullDevice()

        test("should pass the operations on a list of tags with the count of handled messages") {
            NullBench().use { bench ->
                val srq = bench.pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(8, 1), 5, 6, bench.cq)
                srq.cq() shouldBe bench.cq
                srq.xrcDomain() shouldBe null
                val list = srq.tags().shouldNotBeNull()
                list.add(1, 2, 3, bench.mr.slice(0, 40)) shouldBe 77
                NullVerbs.tagged() shouldBe listOf<Long>(5, 6, 0, 2, 0, 0, 1, 2, 3, 40)
                list.handled(2)
                list.handled(1)
                list.addSignaled(9, 1, 2, 3, bench.mr.slice(0, 40))
                NullVerbs.tagged().subList(2, 7) shouldBe listOf<Long>(0, 3, 9, 3, 1)
                list.remove(10, 77)
                NullVerbs.tagged().subList(2, 7) shouldBe listOf<Long>(1, 3, 10, 3, 77)
                list.sync(11)
                NullVerbs.tagged().subList(2, 6) shouldBe listOf<Long>(2, 3, 11, 3)
                val full = shouldThrow<RdmaSystemException> { list.add(1, 13, -1, bench.mr.slice(0, 8)) }
                full.errnoName() shouldBe "ENOMEM"
                full.message shouldContain "TAG_ADD, tag=0xd"
                bench.cq.close()
                shouldThrow<IllegalStateException> { list.sync(1) }
            }
            NullVerbs.live() shouldBe emptyMap()
        }

        test("should refuse queue pairs other than RC on a queue with tag matching") {
            NullBench().use { bench ->
                val srq = bench.pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(8, 1), 5, 6, bench.cq)
                val attributes = QueuePairInitAttributes.of(QueuePairType.UD, bench.cq).with(srq)
                shouldThrow<IllegalArgumentException> { bench.pd.queuePair(attributes) }.message shouldContain
                    "serves RC queue pairs only, not UD"
            }
        }

        test("should name what has tag matching where the library has not") {
            NullBench(extended = false).use { bench ->
                shouldThrow<UnsupportedVerbException> {
                    bench.pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(8, 1), 5, 6, bench.cq)
                }.message shouldContain Feature.TAG_MATCHING.needs()
            }
        }

        test("should write headers in network order, and read them back") {
            val header = MemorySegment.ofArray(ByteArray(TagHeader.RENDEZVOUS_SIZE) { 9 })
            TagHeader.eager(header, 0x0102030405060708, 0x0a0b0c0d)
            header.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE).take(17).toList() shouldBe
                listOf<Byte>(3, 0, 0, 0, 10, 11, 12, 13, 1, 2, 3, 4, 5, 6, 7, 8, 9)
            val memory = RemoteMemory(0x1122334455667788, 0xfffffffe, 0x99)
            TagHeader.rendezvous(header, 5, 6, memory)
            TagHeader.operation(header) shouldBe TagHeader.Operation.RENDEZVOUS
            TagHeader.payload(header) shouldBe memory
            TagHeader.finish(header)
            TagHeader.operation(header) shouldBe TagHeader.Operation.FINISH
            TagHeader.tag(header) shouldBe 5
            TagHeader.data(header) shouldBe 6
            TagHeader.noTag(header)
            TagHeader.operation(header) shouldBe TagHeader.Operation.NO_TAG
            shouldThrow<IndexOutOfBoundsException> { TagHeader.eager(MemorySegment.ofArray(ByteArray(8)), 1, 1) }
            shouldThrow<IllegalArgumentException> { TagHeader.operation(MemorySegment.ofArray(byteArrayOf(4))) }
        }
    })
