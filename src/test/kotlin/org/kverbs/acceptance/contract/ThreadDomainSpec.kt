package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueueAttributes
import org.kverbs.CompletionQueueOptions
import org.kverbs.Device
import org.kverbs.MemoryWindow
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.BIND_MW
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.MEMORY_WINDOWS
import org.kverbs.acceptance.contract.Capability.PARENT_DOMAINS
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.acceptance.contract.Capability.THREAD_DOMAINS
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes

/** Checks thread domains, and parent domains in every place that takes a protection domain. */
internal class ThreadDomainSpec :
    ContractSpec({
        case(
            "should connect queue pairs of a parent domain, with memory of both domains",
            RAW_CONNECT,
            THREAD_DOMAINS,
        ) {
            val threads = context.threadDomain()
            val domain = pd.parentDomain(threads)
            (domain.parent() to domain.threadDomain()) shouldBe (pd to threads)
            val cq =
                context.completionQueue(
                    CompletionQueueAttributes
                        .of(64)
                        .with(CompletionQueueOptions.NONE.with(domain).asSingleThreaded()),
                )
            val a = End(domain.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq)), cq, memory())
            val b = End(queuePair(cq = cq()), cq(), domain.memoryRegion(4096, *everyAccess()))
            a.qp.protectionDomain() shouldBe domain
            linked(a = a, b = b)
            a.mr.put(pattern(64))
            a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 64)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.bytes(64, 0) shouldBe pattern(64)
        }

        case("should make everything in a parent domain that a protection domain makes", PARENT_DOMAINS, DATAGRAM) {
            val domain = pd.parentDomain()
            domain.threadDomain() shouldBe null
            domain.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1))
            val end = End(domain.queuePair(QueuePairInitAttributes.of(QueuePairType.UD, cq())), cq(), memory())
            val link = linked(QueuePairType.UD, a = End(end.qp, end.qp.sendCq(), domain.memoryRegion(1024)))
            val (a, b) = link
            a.qp.protectionDomain() shouldBe domain
            b.qp.postReceive(7, b.mr.slice())
            link.message { send(1).from(a.mr.slice(0, 32)).signaled() }
            b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = GRH_BYTES + 32)
        }

        case(
            "should bind a window of a parent domain to memory of its protection domain",
            PARENT_DOMAINS,
            MEMORY_WINDOWS,
        ) {
            val domain = pd.parentDomain()
            val window = domain.memoryWindow(MemoryWindowType.TYPE_2)
            val (a, b) = linked()
            val rkey = MemoryWindow.nextRkey(window.rkey())
            b.post { bind(1, window, rkey, b.mr.slice(0, 128), AccessFlag.mask(AccessFlag.REMOTE_WRITE)).signaled() }
            b.cq.takeOne().shouldBeDone(1, BIND_MW, b.qp)
            a.mr.put(pattern(16))
            a.post { write(2, RemoteMemory(b.mr.remote().address(), 128, rkey)).from(a.mr.slice(0, 16)).signaled() }
            a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
            b.mr.bytes(16, 0) shouldBe pattern(16)
        }

        case(
            "should close what was made in them before the domains, whichever is closed first",
            THREAD_DOMAINS,
            PARENT_DOMAINS,
        ) {
            for (closed in listOf("thread domain", "protection domain", "parent domain", "context")) {
                Device.byName(device.name).open().use { other ->
                    val pd = other.protectionDomain()
                    val threads = other.threadDomain()
                    val domain = pd.parentDomain(threads)
                    val cq =
                        other.completionQueue(
                            CompletionQueueAttributes.of(8).with(CompletionQueueOptions.NONE.with(domain)),
                        )
                    val qp = domain.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))
                    val region = domain.memoryRegion(64)
                    when (closed) {
                        "thread domain" -> threads.close()
                        "protection domain" -> pd.close()
                        "parent domain" -> domain.close()
                        else -> other.close()
                    }
                    listOf(domain, cq, qp, region).map { it.isOpen } shouldBe listOf(false, false, false, false)
                    pd.isOpen shouldBe (closed == "thread domain" || closed == "parent domain")
                    threads.isOpen shouldBe (closed == "protection domain" || closed == "parent domain")
                }
            }
        }

        case("should refuse domains of another context, and a queue in a plain protection domain") {
            Device.byName(device.name).open().use { other ->
                if (THREAD_DOMAINS in device.capabilities) {
                    shouldThrow<IllegalArgumentException> {
                        pd.parentDomain(
                            other.threadDomain(),
                        )
                    }.message shouldContain
                        "belongs to another open device"
                    val strange = CompletionQueueOptions.NONE.with(other.protectionDomain().parentDomain())
                    shouldThrow<IllegalArgumentException> {
                        context.completionQueue(CompletionQueueAttributes.of(8).with(strange))
                    }.message shouldContain "belongs to another open device"
                }
            }
            shouldThrow<IllegalArgumentException> { CompletionQueueOptions.NONE.with(pd) }.message shouldContain
                "is not a parent domain"
        }
    })
