package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.acceptance.contract.Capability.REREGISTER
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout.JAVA_LONG

/** Checks messages to regions whose access or memory was changed. */
internal class ReregistrationSpec :
    ContractSpec({
        case(
            "should admit a peer's write to a region that was reregistered with REMOTE_WRITE",
            RAW_CONNECT,
            REREGISTER,
        ) {
            val (a, b) = linked()
            val region = memory(4096, LOCAL_WRITE)
            region.reregister(LOCAL_WRITE, REMOTE_WRITE)
            region.access() shouldBe setOf(LOCAL_WRITE, REMOTE_WRITE)
            a.post { write(1, region.remote()).inline(pattern(20)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            region.bytes(20) shouldBe pattern(20)
            b.cq.shouldStayEmpty()
        }

        case(
            "should refuse a peer's write to a region that was reregistered without REMOTE_WRITE",
            RAW_CONNECT,
            REREGISTER,
        ) {
            val (a, b) = linked()
            a.post { write(1, b.mr.remote()).inline(pattern(20)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.reregister(LOCAL_WRITE)
            a.post { write(2, b.mr.remote()).inline(pattern(20, seed = 2)) }
            a.cq.takeOne().shouldHaveFailed(2, REM_ACCESS_ERR, a.qp)
            b.mr.bytes(20) shouldBe pattern(20)
        }

        case(
            "should fail a receive at the address that a moved region had before, and fill one at its new address",
            RAW_CONNECT,
            REREGISTER,
        ) {
            val (a, b) = linked()
            Arena.ofShared().use { arena ->
                val (before, after) = List(2) { arena.allocate(4096, 4096) }
                val region = pd.register(before, LOCAL_WRITE)
                val old = region.slice(0, 100)
                region.reregister(after)
                region.address() shouldBe after.address()
                b.qp.postReceive(1, old)
                a.post { send(2).inline(pattern(20)) }
                a.cq.takeOne().shouldHaveFailed(2, REM_OP_ERR, a.qp)
                b.cq.takeOne().shouldHaveFailed(1, LOC_PROT_ERR, b.qp)

                val reset = QueuePairAttributes.builder().state(QueuePairState.RESET).build()
                listOf(a, b).forEach { it.qp.modify(reset) }
                linked(a = a, b = b)
                b.qp.postReceive(3, region.slice(0, 100))
                a.post { send(4).inline(pattern(20)).signaled() }
                a.cq.takeOne().shouldBeDone(4, SEND, a.qp)
                b.cq.takeOne().shouldBeDone(3, RECV, b.qp, bytes = 20)
                region.bytes(20) shouldBe pattern(20)
                before.get(JAVA_LONG, 0) shouldBe 0
                region.close()
            }
        }

        case("should let the queue pairs of the new domain alone use a moved region", RAW_CONNECT, REREGISTER) {
            val (a, b) = linked()
            val other = context.protectionDomain()
            b.mr.reregister(other)
            b.mr.protectionDomain() shouldBe other
            b.qp.postReceive(1, b.mr.slice(0, 100))
            a.post { send(2).inline(pattern(20)) }
            a.cq.takeOne().shouldHaveFailed(2, REM_OP_ERR, a.qp)
            b.cq.takeOne().shouldHaveFailed(1, LOC_PROT_ERR, b.qp)

            b.mr.reregister(pd)
            val reset = QueuePairAttributes.builder().state(QueuePairState.RESET).build()
            listOf(a, b).forEach { it.qp.modify(reset) }
            linked(a = a, b = b)
            b.qp.postReceive(3, b.mr.slice(0, 100))
            a.post { send(4).inline(pattern(20)).signaled() }
            a.cq.takeOne().shouldBeDone(4, SEND, a.qp)
            b.cq.takeOne().shouldBeDone(3, RECV, b.qp, bytes = 20)
            b.mr.bytes(20) shouldBe pattern(20)
        }

        case("should close a moved region with its new domain, and not with the former one", REREGISTER) {
            val (former, next) = List(2) { context.protectionDomain() }
            val region = former.memoryRegion(4096, LOCAL_WRITE)
            region.reregister(former)
            region.reregister(next)
            region.access() shouldBe setOf(LOCAL_WRITE)
            former.close()
            region.isOpen shouldBe true
            region.reregister(LOCAL_WRITE, REMOTE_WRITE)
            shouldThrow<IllegalStateException> { region.reregister(former) }.message shouldContain "is closed"
            next.close()
            region.isOpen shouldBe false
            shouldThrow<IllegalStateException> { region.reregister(pd) }
        }

        case(
            "should keep a region in its domain if the device refuses the move, or the domain is not its own",
            REREGISTER,
        ) {
            val region = memory(4096, LOCAL_WRITE)
            context.device().open().use { elsewhere ->
                shouldThrow<IllegalArgumentException> {
                    region.reregister(elsewhere.protectionDomain())
                }.message shouldContain "belongs to another open device"
            }
            region.protectionDomain() shouldBe pd
            region.isOpen shouldBe true
        }
    })
