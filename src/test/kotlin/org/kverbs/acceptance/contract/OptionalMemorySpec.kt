package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.MemoryRegion
import org.kverbs.RdmaSystemException
import org.kverbs.ReceiveRequests
import org.kverbs.WorkCompletionOpcode.FETCH_ADD
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.acceptance.contract.Capability.ATOMICS
import org.kverbs.acceptance.contract.Capability.DEVICE_MEMORY
import org.kverbs.acceptance.contract.Capability.MEMORY_ADVICE
import org.kverbs.acceptance.contract.Capability.NULL_REGION
import org.kverbs.acceptance.contract.Capability.ON_DEMAND_PAGING
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.ON_DEMAND
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.MemoryAdvice
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout

/** Checks the kinds of memory that not every device has. */
internal class OptionalMemorySpec :
    ContractSpec({
        for (type in listOf(RC, UC, UD)) {
            case("should send zeros from a null region and drop what a receive puts there, on $type", NULL_REGION) {
                val nowhere = pd.nullRegion()
                val link = linked(type)
                val (a, b) = link
                a.mr.put(pattern(300))
                b.mr.put(pattern(1000, seed = 2))
                b.qp.postReceive(
                    ReceiveRequests()
                        .receive(7)
                        .into(b.mr.slice(0, link.offset + 100))
                        .into(nowhere.slice(0, 100))
                        .into(b.mr.slice(500, 200)),
                )
                link.message {
                    send(1)
                        .from(a.mr.slice(0, 200))
                        .from(nowhere.slice(1L shl 40, 50))
                        .from(a.mr.slice(200, 50))
                        .signaled()
                }
                b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = link.offset + 300)
                b.mr.bytes(100, link.offset) shouldBe pattern(100)
                b.mr.bytes(100, 500) shouldBe ByteArray(50) + pattern(300).copyOfRange(200, 250)
                a.cq.takeOne().isSuccess shouldBe true
            }
        }

        case("should write zeros from a null region to a peer, and read a peer's memory into nothing", NULL_REGION) {
            val nowhere = pd.nullRegion()
            val (a, b) = linked()
            b.mr.put(pattern(10_000))
            a.post { write(1, b.mr.remote()).from(nowhere.slice(5, 9000)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.bytes(9000) shouldBe ByteArray(9000)
            b.mr.bytes(1000, 9000) shouldBe pattern(10_000).copyOfRange(9000, 10_000)
            a.post { read(2, b.mr.remote()).into(nowhere.slice(0, 9000)).into(a.mr.slice(0, 1000)).signaled() }
            a.cq.takeOne().shouldBeDone(2, RDMA_READ, a.qp)
            a.mr.bytes(1000) shouldBe pattern(10_000).copyOfRange(9000, 10_000)
        }

        case("should have neither memory nor a key for peers in a null region", NULL_REGION) {
            val nowhere = pd.nullRegion()
            nowhere.hasMemory() shouldBe false
            nowhere.length() shouldBe Long.MAX_VALUE
            nowhere.lkey() shouldNotBe 0
            shouldThrow<UnsupportedOperationException> { nowhere.memory() }.message shouldContain "gives no memory"
            shouldThrow<UnsupportedOperationException> { nowhere.remote() }.message shouldContain "has no rkey"
            shouldThrow<UnsupportedOperationException> { nowhere.reregister(LOCAL_WRITE) }
        }

        case("should hold what the program and what peers put into device memory", DEVICE_MEMORY) {
            val memory = context.deviceMemory(4096)
            val region = pd.register(memory, 1024, 2048, *everyAccess().filter { it != MW_BIND }.toTypedArray())
            region.remote().address() shouldBe 0
            region.length() shouldBe 2048
            val (a, b) = linked()
            memory.copyFrom(1024, MemorySegment.ofArray(pattern(100)))
            a.post { read(1, region.remote()).into(a.mr.slice(0, 100)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_READ, a.qp)
            a.mr.bytes(100) shouldBe pattern(100)
            a.post { write(2, region.remote().at(100)).inline(pattern(20, seed = 3)).signaled() }
            a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
            b.qp.postReceive(3, region.slice(200, 40))
            a.post { send(4).inline(pattern(40, seed = 4)) }
            b.cq.takeOne().shouldBeDone(3, RECV, b.qp, bytes = 40)
            a.post { write(5, b.mr.remote()).from(region.slice(200, 40)).signaled() }
            a.cq.takeOne().shouldBeDone(5, RDMA_WRITE, a.qp)
            b.mr.bytes(40) shouldBe pattern(40, seed = 4)
            Arena.ofConfined().use { arena ->
                val copy = arena.allocate(140)
                memory.copyTo(1124, copy)
                copy.asSlice(0, 20).toArray(ValueLayout.JAVA_BYTE) shouldBe pattern(20, seed = 3)
                copy.asSlice(100, 40).toArray(ValueLayout.JAVA_BYTE) shouldBe pattern(40, seed = 4)
            }
        }

        case("should count in device memory by the atomics of peers", DEVICE_MEMORY, ATOMICS) {
            val memory = context.deviceMemory(64, 64)
            val region = pd.register(memory, LOCAL_WRITE, REMOTE_ATOMIC)
            val (a, _) = linked()
            repeat(3) {
                a.post { fetchAndAdd(1, region.remote().at(8), 5).into(a.mr.slice(0, 8)).signaled() }
                a.cq.takeOne().shouldBeDone(1, FETCH_ADD, a.qp)
            }
            a.mr.memory().get(ValueLayout.JAVA_LONG, 0) shouldBe 10
            val value = LongArray(1)
            memory.copyTo(8, MemorySegment.ofArray(value))
            value.single() shouldBe 15
        }

        case("should refuse what is not inside device memory, and more of it than the device has", DEVICE_MEMORY) {
            val most = context.queryDeviceEx().maxDmSize()
            (most > 0) shouldBe true
            shouldThrow<RdmaSystemException> { context.deviceMemory(most + 1) }.operation() shouldBe "ibv_alloc_dm"
            val memory = context.deviceMemory(4096)
            shouldThrow<IndexOutOfBoundsException> { pd.register(memory, 4000, 97, LOCAL_WRITE) }
            shouldThrow<IndexOutOfBoundsException> { memory.copyFrom(4092, MemorySegment.ofArray(ByteArray(8))) }
            shouldThrow<RdmaSystemException> { pd.register(memory, LOCAL_WRITE, MW_BIND) }.errnoName() shouldBe "EINVAL"
            shouldThrow<IllegalArgumentException> { context.deviceMemory(64, 3) }.message shouldContain "power of 2"
        }

        case("should close the regions of device memory before the memory", DEVICE_MEMORY) {
            val memory = context.deviceMemory(4096)
            val region = pd.register(memory, LOCAL_WRITE)
            memory.close()
            region.isOpen shouldBe false
            pd.isOpen shouldBe true
        }

        case("should close device memory once, however often it is closed", DEVICE_MEMORY) {
            val most = context.queryDeviceEx().maxDmSize()
            val memory = context.deviceMemory(4096)
            repeat(2) { memory.close() }
            memory.isOpen shouldBe false
            shouldThrow<IllegalStateException> { pd.register(memory, LOCAL_WRITE) }
            context.deviceMemory(most).use { it.length() shouldBe most }
        }

        case("should move data through memory that is paged on demand, in both directions", ON_DEMAND_PAGING) {
            val (a, b) = linked()
            val region = pd.memoryRegion(1 shl 20, *FULL_ACCESS, ON_DEMAND)
            region.access() shouldBe FULL_ACCESS.toSet() + ON_DEMAND
            region.put(pattern(100_000))
            a.post { write(1, b.mr.remote()).from(region.slice(0, 16_384)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.bytes(16_384) shouldBe pattern(100_000).copyOf(16_384)
            a.post { write(2, region.remote().at(500_000)).from(b.mr.slice(0, 16_384)).signaled() }
            a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
            region.bytes(16_384, 500_000) shouldBe pattern(100_000).copyOf(16_384)
        }

        case("should use any memory of the program through an implicit region", ON_DEMAND_PAGING) {
            context.queryDeviceEx().onDemandPaging().isImplicitSupported shouldBe true
            val everything: MemoryRegion = pd.implicitRegion(*FULL_ACCESS)
            everything.hasMemory() shouldBe false
            val (a, b) = linked()
            Arena.ofConfined().use { arena ->
                val (from, to) = List(2) { arena.allocate(10_000) }
                MemorySegment.copy(pattern(10_000), 0, from, ValueLayout.JAVA_BYTE, 0, 10_000)
                b.qp.postReceive(1, everything.slice(to))
                a.post { send(2).from(everything.slice(from)).signaled() }
                b.cq.takeOne().shouldBeDone(1, RECV, b.qp, bytes = 10_000)
                to.mismatch(from) shouldBe -1
                a.cq.takeOne().isSuccess shouldBe true
                to.fill(0)
                a.post { write(3, everything.remote(to)).from(everything.slice(from)).signaled() }
                a.cq.takeOne().shouldBeDone(3, RDMA_WRITE, a.qp)
                to.mismatch(from) shouldBe -1
                everything.slice(to).memory() shouldBe to
            }
        }

        case("should take advice on memory that is paged on demand", ON_DEMAND_PAGING, MEMORY_ADVICE) {
            val region = pd.memoryRegion(1 shl 16, LOCAL_WRITE, ON_DEMAND)
            MemoryAdvice.entries.forEach {
                pd.advise(it, region.slice(0, 5000), region.slice(20_000, 1))
                pd.adviseLater(it, region.slice())
            }
        }

        case("should refuse advice on what it does not hold for", ON_DEMAND_PAGING, MEMORY_ADVICE) {
            fun refused(
                advice: MemoryAdvice,
                region: MemoryRegion,
            ) = shouldThrow<RdmaSystemException> { pd.advise(advice, region.slice(0, 8)) }.errnoName()

            val readable = pd.memoryRegion(4096, ON_DEMAND)
            refused(MemoryAdvice.PREFETCH_WRITE, readable) shouldBe "EPERM"
            val elsewhere = context.protectionDomain().memoryRegion(4096, LOCAL_WRITE, ON_DEMAND)
            refused(MemoryAdvice.PREFETCH, elsewhere) shouldBe "EPERM"
            shouldThrow<IllegalArgumentException> { pd.advise(MemoryAdvice.PREFETCH) }
            AccessFlag.of(readable.access().single().bit()).single() shouldBe ON_DEMAND
        }
    })
