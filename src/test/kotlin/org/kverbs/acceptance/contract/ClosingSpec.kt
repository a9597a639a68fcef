package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import org.kverbs.Diagnostics
import org.kverbs.RdmaSystemException
import org.kverbs.Resource
import org.kverbs.WorkCompletionOpcode.BIND_MW
import org.kverbs.WorkCompletions
import org.kverbs.acceptance.contract.Capability.ADDRESS_HANDLES
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.MEMORY_WINDOWS
import org.kverbs.acceptance.contract.Capability.MULTICAST
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.time.Duration

/** Checks the effect of closing on a resource, on those made from it, and on their users. */
internal class ClosingSpec :
    ContractSpec({
        case("should close each resource twice without an error, and refuse its use from then on") {
            for ((resource, use) in everyResource()) {
                withClue(resource.describe()) {
                    use()
                    resource.close()
                    resource.close()
                    resource.isOpen shouldBe false
                    val refusal = shouldThrow<IllegalStateException> { use() }
                    refusal.message shouldContain "${resource.describe()} is closed"
                    refusal.cause
                        .shouldNotBeNull()
                        .stackTrace
                        .map { it.className } shouldContain ClosingSpec::class.java.name
                }
            }
        }

        case("should refuse the use from another thread, and not know where it was closed without diagnostics") {
            val qp = queuePair()
            Diagnostics.disable()
            qp.close()
            var seen: Throwable? = null
            Thread.ofPlatform().start { seen = runCatching { qp.query() }.exceptionOrNull() }.join()
            seen.shouldBeInstanceOf<IllegalStateException>().message shouldContain
                "is closed (set -Dkverbs.diagnostics=true to see where)"
            seen?.cause shouldBe null
        }

        case("should close everything that was made from the device when it is closed") {
            val made = everyResource().map { it.first }
            context.close()
            made.filter { it.isOpen }.map { it.describe() } shouldBe emptyList()
            Diagnostics.openResources().size shouldBe 0
        }

        case("should close the children of a parent and leave its own parents and siblings open") {
            val channel = context.completionChannel()
            val cq = cq(channel = channel)
            val other = cq(channel = channel)
            val region = memory()
            val qp = queuePair(cq = cq)
            val spared = queuePair(cq = other)
            cq.close()
            listOf(qp, cq).none { it.isOpen } shouldBe true
            channel.close()
            listOf(other, spared).none { it.isOpen } shouldBe true
            listOf(region, pd, context).all { it.isOpen } shouldBe true
            pd.close()
            region.isOpen shouldBe false
            context.isOpen shouldBe true
        }

        case(
            "should close a queue with events that were not acknowledged, and a queue pair with work outstanding",
            RAW_CONNECT,
        ) {
            val channel = context.completionChannel()
            val (a, b) = linked(b = end(cq = cq(channel = channel)))
            b.qp.postReceive(1, b.mr.slice())
            b.qp.postReceive(2, b.mr.slice())
            b.cq.arm()
            a.post { repeat(3) { send(1).inline(pattern(4)) } }
            channel.awaitEvent(Duration.ofSeconds(10)) shouldBe b.cq
            b.cq.close()
            a.cq.close()
            channel.close()
        }

        case(
            "should refuse a request that uses a closed address or window",
            RAW_CONNECT,
            ADDRESS_HANDLES,
            MEMORY_WINDOWS,
        ) {
            val (a, b) = linked(UD)
            val address = a.qp.addressHandle(b.qp.endpoint(), ConnectOptions.DEFAULTS)
            address.close()
            shouldThrow<IllegalStateException> { a.post { send(1).to(address, 2, 3) } }.message shouldContain
                "address handle on"
            val window = pd.memoryWindow(MemoryWindowType.TYPE_2)
            window.close()
            val (c, _) = linked()
            shouldThrow<IllegalStateException> { c.post { bind(1, window, 5, c.mr.slice(), 0) } }.message shouldContain
                "memory window"
        }

        case("should keep every refusal when a region can't be closed before its window", RAW_CONNECT, MEMORY_WINDOWS) {
            val window = pd.memoryWindow(MemoryWindowType.TYPE_1)
            val (_, b) = linked()
            window.bind(b.qp, 1, b.mr, 0, 100)
            b.cq.takeOne().shouldBeDone(1, BIND_MW, b.qp)
            // A refused close may be repeated, here after the window was closed.
            val refusal = shouldThrow<RdmaSystemException> { b.mr.close() }
            refusal.operation() shouldBe "ibv_dereg_mr"
            refusal.message shouldContain "memory windows bound to it"
            shouldThrow<IllegalStateException> { b.mr.memory() }
            window.close()
            b.mr.close()
        }

        case(
            "should close the device though a region is bound to a window that was made before it",
            RAW_CONNECT,
            MEMORY_WINDOWS,
        ) {
            val window = pd.memoryWindow(MemoryWindowType.TYPE_1)
            val (_, b) = linked()
            window.bind(b.qp, 1, b.mr, 0, 100)
            b.cq.takeOne().shouldBeDone(1, BIND_MW, b.qp)
            shouldThrow<RdmaSystemException> { b.mr.close() }.operation() shouldBe "ibv_dereg_mr"
            context.close()
            listOf(context, pd, b.mr, window).none { it.isOpen } shouldBe true
            Diagnostics.openResources().size shouldBe 0
        }

        case("should leave its multicast groups when a queue pair is closed", MULTICAST, DATAGRAM) {
            val end = end(UD)
            end.qp.activate(ConnectOptions.DEFAULTS)
            end.qp.attachMulticast(device.group, 0)
            end.qp.attachMulticast(Gid.parse(if (device.isIpv6) "ff02::2" else "224.0.0.2"), 0)
            end.qp.close()
            end.qp.isOpen shouldBe false
        }
    })

/** Makes a resource of each kind that the device supports, with a use of each; the device itself is the last. */
private fun Bench.everyResource(): List<Pair<Resource, () -> Unit>> {
    val channel = context.completionChannel()
    val cq = cq(channel = channel)
    val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1))
    val region = memory()
    val qp = queuePair()
    val common =
        listOf<Pair<Resource, () -> Unit>>(
            qp to { qp.query() },
            cq to { cq.poll(WorkCompletions(1)) },
            channel to { channel.awaitEvent(Duration.ZERO) },
            srq to { srq.postReceive(1, region.slice(0, 4)) },
            region to { region.memory() },
        )
    val windows =
        if (MEMORY_WINDOWS in device.capabilities) {
            val window = pd.memoryWindow(MemoryWindowType.TYPE_2)
            listOf<Pair<Resource, () -> Unit>>(window to { window.rkey() })
        } else {
            emptyList()
        }
    val addresses =
        if (ADDRESS_HANDLES in device.capabilities) {
            val sender = end(UD)
            sender.qp.activate(ConnectOptions.DEFAULTS)
            val address = sender.qp.addressHandle(sender.qp.endpoint(), ConnectOptions.DEFAULTS)
            listOf<Pair<Resource, () -> Unit>>(address to { sender.post { send(1).to(address, 2, 3) } })
        } else {
            emptyList()
        }
    return windows + addresses + common +
        listOf(pd to { pd.memoryRegion(8).close() }, context to { context.queryDevice() })
}
