package org.kverbs.acceptance.contract

import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.WorkCompletionOpcode.COMP_SWAP
import org.kverbs.WorkCompletionOpcode.FETCH_ADD
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.acceptance.contract.Capability.ATOMICS
import org.kverbs.acceptance.contract.Capability.MEMORY_ADVICE
import org.kverbs.acceptance.contract.Capability.ON_DEMAND_PAGING
import org.kverbs.acceptance.contract.Capability.XRC
import org.kverbs.attributes.AccessFlag.ON_DEMAND
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.MemoryAdvice
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout

private const val BYTES = 60_000
private const val TARGET = 100_000L

/** Checks each kind of message from and to memory that is paged on demand, whose pages nobody has touched. */
internal class OnDemandTrafficSpec :
    ContractSpec({
        for (type in listOf(RC, UC, UD)) {
            case("should carry messages between memory that is paged on demand on $type", ON_DEMAND_PAGING) {
                val (from, to) = List(2) { onDemand() }
                val link = linked(type)
                val (a, b) = link
                val size = if (type == UD) 1000 else BYTES
                from.put(pattern(size))
                b.qp.postReceive(7, to.slice(TARGET, link.offset + size))
                link.message { sendWithImmediate(1, 5).from(from.slice(0, size.toLong())).signaled() }
                a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
                b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = link.offset + size, immediate = 5)
                to.bytes(size, TARGET + link.offset) shouldBe pattern(size)
            }
        }

        case("should read into memory that is paged on demand, from such memory", ON_DEMAND_PAGING) {
            val (from, to) = List(2) { onDemand() }
            val (a, _) = linked()
            from.put(pattern(BYTES), TARGET)
            a.post { read(1, from.remote().at(TARGET)).into(to.slice(3, BYTES.toLong())).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_READ, a.qp, bytes = BYTES.toLong())
            to.bytes(BYTES, 3) shouldBe pattern(BYTES)
        }

        case("should receive into memory that is paged on demand by a shared receive queue", ON_DEMAND_PAGING) {
            val (from, to) = List(2) { onDemand() }
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1))
            val (a, b) = linked(b = end(srq = srq))
            from.put(pattern(BYTES))
            srq.postReceive(7, to.slice(TARGET, BYTES.toLong()))
            a.post { send(1).from(from.slice(0, BYTES.toLong())).signaled() }
            a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
            b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = BYTES.toLong())
            to.bytes(BYTES, TARGET) shouldBe pattern(BYTES)
        }

        case("should carry messages between memory that is paged on demand on XRC", ON_DEMAND_PAGING, XRC) {
            val (from, to) = List(2) { onDemand() }
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain)
            val queue = namedQueue(domain)
            from.put(pattern(BYTES))
            queue.srq.postReceive(7, to.slice(TARGET, BYTES.toLong()))
            a.post { send(1).from(from.slice(0, BYTES.toLong())).toSharedReceiveQueue(queue.number).signaled() }
            a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
            queue.cq.takeOne().shouldBeDone(7, RECV, receiver.number(), bytes = BYTES.toLong())
            to.bytes(BYTES, TARGET) shouldBe pattern(BYTES)
        }

        case("should change memory that is paged on demand by atomics", ON_DEMAND_PAGING, ATOMICS) {
            val (a, _) = linked()
            val region = pd.memoryRegion(1L shl 18, *FULL_ACCESS, REMOTE_ATOMIC, ON_DEMAND)
            val before = pd.memoryRegion(1L shl 18, *FULL_ACCESS, ON_DEMAND)
            a.post {
                fetchAndAdd(1, region.remote().at(TARGET), 42).into(before.slice(TARGET, 8)).signaled()
                compareAndSwap(2, region.remote().at(TARGET), 42, -7).into(before.slice(8, 8)).signaled()
                compareAndSwap(3, region.remote().at(TARGET), 42, 1).into(before.slice(16, 8)).signaled()
            }
            val operations = listOf(FETCH_ADD, COMP_SWAP, COMP_SWAP)
            a.cq.take(3).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, operations[i], a.qp, bytes = 8) }
            listOf(before.long(TARGET), before.long(8), before.long(16)) shouldBe listOf(0L, 42L, -7L)
            region.long(TARGET) shouldBe -7
        }

        case(
            "should carry messages through an implicit region during a prefetch of its pages",
            ON_DEMAND_PAGING,
            MEMORY_ADVICE,
        ) {
            val everything = pd.implicitRegion(*FULL_ACCESS)
            val (a, b) = linked()
            Arena.ofConfined().use { arena ->
                val (from, to) = List(2) { arena.allocate(BYTES.toLong()) }
                MemorySegment.copy(pattern(BYTES), 0, from, ValueLayout.JAVA_BYTE, 0, BYTES)
                pd.adviseLater(MemoryAdvice.PREFETCH, everything.slice(from))
                pd.adviseLater(MemoryAdvice.PREFETCH_WRITE, everything.slice(to))
                b.qp.postReceive(1, everything.slice(to))
                a.post { send(2).from(everything.slice(from)).signaled() }
                a.cq.takeOne().shouldBeDone(2, SEND, a.qp)
                b.cq.takeOne().shouldBeDone(1, RECV, b.qp, bytes = BYTES.toLong())
                to.mismatch(from) shouldBe -1
            }
        }
    })

private fun Bench.onDemand(): MemoryRegion = pd.memoryRegion(1L shl 18, *FULL_ACCESS, ON_DEMAND)
