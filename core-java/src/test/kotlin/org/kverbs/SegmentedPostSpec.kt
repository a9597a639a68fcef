package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.internal.WorkRequestArena
import org.kverbs.internal.abi.IbvSendWr
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment

/** The longest header: both its sizes have 16 bits. */
private const val MOST = 65_535

/** Tests sends that the device cuts into segments, on a driver. */
class SegmentedPostSpec :
    FunSpec({
        onNullDevice()

        fun NullBench.raw(header: Int) = QueuePairInitAttributes.of(RAW_PACKET, cq).withMaxTsoHeader(header)

        test("should tell the driver the header, its length and the segment size, and ask for checksums") {
            NullBench().use { bench ->
                val qp = bench.pd.queuePair(bench.raw(MOST).asExtended())
                val header = ByteArray(54) { (it + 1).toByte() }
                qp.post(SendRequests().sendSegmented(1, header, 1460).from(bench.mr.slice()).signaled())
                NullVerbs.offload() shouldBe "tso hdr=01..36 hdr_sz=54 mss=1460 flags=18"
                NullVerbs.placed(qp).setters shouldBe 1
                qp.post(SendRequests().sendSegmented(1, ByteArray(MOST), MOST).from(bench.mr.slice()))
                NullVerbs.offload() shouldBe "tso hdr=00..00 hdr_sz=65535 mss=65535 flags=16"
            }
        }

        test("should write the fields of the plain call, and copy the header at once") {
            Arena.ofConfined().use { arena ->
                val header = arena.allocate(60).fill(7)
                val list = SendRequests().sendSegmented(9, header, 536)
                header.fill(1)
                repeat(200) { list.sendSegmented(1, ByteArray(60), 1) } // the list moves its requests
                val request = WorkRequestArena.DOOR.of(list).first()
                Memory.getInt(request + IbvSendWr.OPCODE) shouldBe WorkRequestOpcode.TSO.code()
                Memory.getShort(request + IbvSendWr.TSO_HDR_SZ) shouldBe 60
                Memory.getShort(request + IbvSendWr.TSO_MSS) shouldBe 536
                val copy = MemorySegment.ofAddress(Memory.getLong(request + IbvSendWr.TSO_HDR)).reinterpret(60)
                copy.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE) shouldBe ByteArray(60) { 7 }
                list.completionOpcode(0) shouldBe WorkCompletionOpcode.TSO
            }
        }

        test("should begin no request if the header cannot be copied") {
            val gone = Arena.ofConfined().use { it.allocate(54) }
            val list = SendRequests()
            shouldThrow<IllegalStateException> { list.sendSegmented(1, gone, 1460) }
            list.size() shouldBe 0
        }

        test("should keep the header of a datagram that has an address") {
            NullBench().use { bench ->
                val address = bench.addressHandle()
                val list = SendRequests().sendSegmented(9, ByteArray(60), 536).to(address, 77, 0x11)
                val request = WorkRequestArena.DOOR.of(list).first()
                Memory.getShort(request + IbvSendWr.TSO_HDR_SZ) shouldBe 60
                (Memory.getLong(request + IbvSendWr.TSO_HDR) == address.handle()) shouldBe false
                Memory.getLong(request + IbvSendWr.WR_UD_AH) shouldBe address.handle()
                Memory.getInt(request + IbvSendWr.WR_UD_REMOTE_QPN) shouldBe 77
            }
        }

        test("should refuse inline data before the driver, and a queue pair that was not made for it") {
            NullBench().use { bench ->
                val made = bench.pd.queuePair(bench.raw(60).asExtended())
                val inline = SendRequests().sendSegmented(1, ByteArray(60), 1).inline(ByteArray(1))
                shouldThrow<WorkRequestException> { made.post(inline) }.errnoName() shouldBe "EINVAL"
                val list = SendRequests().send(1).from(bench.mr.slice())
                list.sendSegmented(2, ByteArray(60), 1).from(bench.mr.slice())
                for (qp in listOf(bench.queuePair(RAW_PACKET), bench.queuePair(), bench.extendedQueuePair())) {
                    val refusal = shouldThrow<UnsupportedVerbException> { qp.post(list) }
                    refusal.operation() shouldBe "ibv_wr_send_tso"
                    refusal.advice() shouldContain
                        "Request 1 of 2, counted from 0, needs a queue pair with SEGMENTATION"
                }
            }
        }

        test("should name the limit of the header if the device refuses a longer one") {
            NullBench().use { bench ->
                val qp = bench.pd.queuePair(bench.raw(60))
                NullVerbs.set(NullVerbs.Option.REFUSE_AT, 0)
                for (errno in listOf(22, 12)) { // drivers answer ENOMEM, too, and a caller would retry without end
                    NullVerbs.set(NullVerbs.Option.REFUSE_ERRNO, errno)
                    val list = SendRequests().sendSegmented(1, ByteArray(61), 1).from(bench.mr.slice())
                    val refusal = shouldThrow<WorkRequestException> { qp.tryPost(list) }
                    refusal.errnoName() shouldBe "EINVAL"
                    refusal.message shouldContain "a header of 61 bytes, and max_tso_header is 60"
                }
            }
        }

        test("should make no queue pair for it of a type that the device segments nothing for, or without the call") {
            NullBench().use { bench ->
                bench.context.supports(Feature.SEGMENTATION) shouldBe true
                val datagrams = QueuePairInitAttributes.of(UD, bench.cq).withMaxTsoHeader(1)
                shouldThrow<UnsupportedVerbException> { bench.pd.queuePair(datagrams) }.operation() shouldBe
                    "ibv_wr_send_tso"
                shouldThrow<IllegalArgumentException> { QueuePairInitAttributes.of(RC, bench.cq).withMaxTsoHeader(1) }
                shouldThrow<IllegalArgumentException> { bench.raw(-1) }
                shouldThrow<IllegalArgumentException> { bench.raw(MOST + 1) }
                shouldThrow<IllegalArgumentException> {
                    QueuePairInitAttributes.of(RC, bench.cq).asExtended(Feature.SEGMENTATION)
                }.message shouldContain "maxTsoHeader"
            }
            NullBench(extended = false).use { bench ->
                bench.context.supports(Feature.SEGMENTATION) shouldBe false
                shouldThrow<UnsupportedVerbException> { bench.pd.queuePair(bench.raw(60)) }
            }
        }
    })
