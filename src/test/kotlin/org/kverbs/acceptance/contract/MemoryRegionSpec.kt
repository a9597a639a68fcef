package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.MemoryRegion
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.RELAXED_ORDERING
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.AccessFlag.ZERO_BASED
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UD
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.nio.ByteBuffer

/** Checks protection domains and registered memory. */
internal class MemoryRegionSpec :
    ContractSpec({
        case("should make many protection domains and close them in any order, each once") {
            val domains = List(20) { context.protectionDomain() }
            (domains.filterIndexed { i, _ -> i % 3 == 0 } + domains + domains.reversed()).forEach { it.close() }
            domains.none { it.isOpen } shouldBe true
            pd.isOpen shouldBe true
        }

        case("should register its own memory with every access that the device has") {
            for (access in listOf(emptyList(), listOf(LOCAL_WRITE), listOf(REMOTE_READ), everyAccess().toList())) {
                val region = pd.memoryRegion(10_000, *access.toTypedArray())
                region.access() shouldBe access.toSet()
                region.length() shouldBe 10_000
                region.memory().byteSize() shouldBe 10_000
                region.bytes(10_000) shouldBe ByteArray(10_000)
                region.remote().address() shouldBe region.address()
                region.remote().rkey() shouldBe region.rkey()
                region.slice(100, 10).address() shouldBe region.address() + 100
            }
            memory().lkey() shouldNotBe memory().lkey()
        }

        case(
            "should register and use given memory: a segment, a direct buffer, and one with a chosen address",
            RAW_CONNECT,
        ) {
            val (a, b) = linked()
            Arena.ofConfined().use { arena ->
                val segment = arena.allocate(5000, 4096)
                val buffer = ByteBuffer.allocateDirect(300).position(100).limit(250)
                // The page offset must be that of the memory; the rest of the address is free.
                val iova = 0x7000_0000_0000L
                val regions = listOf(pd.register(segment, *FULL_ACCESS), pd.register(buffer, *FULL_ACCESS))
                val moved = pd.registerAt(iova, segment, *FULL_ACCESS)
                (regions + moved).forEachIndexed { i, region ->
                    a.post { write(i.toLong(), region.remote().at(10)).inline(pattern(20, seed = i)).signaled() }
                    a.cq.takeOne().shouldBeDone(i.toLong(), RDMA_WRITE, a.qp)
                    region.bytes(20, 10) shouldBe pattern(20, seed = i)
                    a.post { write(10, b.mr.remote()).from(region.slice(10, 20)).signaled() }
                    a.cq.takeOne().shouldBeDone(10, RDMA_WRITE, a.qp)
                    b.mr.bytes(20) shouldBe pattern(20, seed = i)
                }
                moved.remote().address() shouldBe iova
                regions[1].length() shouldBe 150
                ByteArray(20).also { buffer.get(110, it) } shouldBe pattern(20, seed = 1)
                b.mr.isOpen shouldBe true
                (regions + moved).forEach(MemoryRegion::close)
            }
        }

        case("should count the addresses of a zero-based region from its beginning, on both sides", RAW_CONNECT) {
            val (a, b) = linked()
            val region = memory(4096, *FULL_ACCESS, ZERO_BASED)
            region.remote().address() shouldBe 0
            a.post { write(1, region.remote().at(10)).inline(pattern(20)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            a.post { write(2, b.mr.remote()).from(region.slice(10, 20)).signaled() }
            a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
            b.mr.bytes(20) shouldBe pattern(20)
        }

        for (type in listOf(RC, UD)) {
            case("should move data with relaxed ordering on $type", type.capability) {
                val relaxed = memory(4096, LOCAL_WRITE, RELAXED_ORDERING)
                val link = linked(type)
                val (a, b) = link
                relaxed.put(pattern(100))
                b.qp.postReceive(7, relaxed.slice(1000, 1000))
                link.message { send(1).from(relaxed.slice(0, 100)).signaled() }
                b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = link.offset + 100)
                relaxed.bytes(100, 1000 + link.offset) shouldBe pattern(100)
                a.cq.takeOne().isSuccess shouldBe true
            }
        }

        case("should refuse memory that can't be registered, and access that contradicts itself") {
            shouldThrow<IllegalArgumentException> {
                pd.register(
                    MemorySegment.ofArray(ByteArray(8)),
                )
            }.message shouldContain
                "garbage collector"
            shouldThrow<IllegalArgumentException> { pd.register(ByteBuffer.allocate(8)) }.message shouldContain "heap"
            shouldThrow<IllegalArgumentException> { pd.memoryRegion(0) }.message shouldContain "length 0"
            Arena.ofConfined().use { arena ->
                val readOnly = arena.allocate(8).asReadOnly()
                shouldThrow<IllegalArgumentException> { pd.register(readOnly) }.message shouldContain "read-only"
            }
            for (access in listOf(REMOTE_WRITE, REMOTE_ATOMIC)) {
                shouldThrow<IllegalArgumentException> { pd.memoryRegion(8, access) }.message shouldContain
                    "$access needs LOCAL_WRITE"
            }
        }

        case("should refuse an address range that is not mapped") {
            val hole = MemorySegment.ofAddress(0x1000).reinterpret(4096)
            val refusal = shouldThrow<RdmaSystemException> { pd.register(hole, LOCAL_WRITE) }
            refusal.errnoName() shouldBe "EFAULT"
            refusal.operation() shouldBe "ibv_reg_mr"
            refusal.message shouldContain "addr=0x1000"
            refusal.message shouldContain "not mapped"
        }

        case("should refuse a slice beyond its region, and an access to nothing") {
            val region = memory(4096)
            shouldThrow<IndexOutOfBoundsException> { region.slice(4000, 97) }
            shouldThrow<IndexOutOfBoundsException> { region.slice(-1, 1) }
            shouldThrow<IndexOutOfBoundsException> { region.remote().at(4097) }
            AccessFlag.of(0).isEmpty() shouldBe true
        }
    })
