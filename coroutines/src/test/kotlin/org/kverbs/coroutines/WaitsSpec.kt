package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.CompletionQueueAttributes
import org.kverbs.RemoteMemory
import org.kverbs.TagHeader
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.ON_DEMAND
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.CountedOperation.RDMA_WRITE
import org.kverbs.attributes.MemoryAdvice
import org.kverbs.cm.AddressHints
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.RC
import org.kverbs.dsl.add
import org.kverbs.dsl.completionCounter
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice
import org.kverbs.dsl.qp
import org.kverbs.dsl.srq
import org.kverbs.dsl.tagList
import java.net.InetAddress
import java.net.InetSocketAddress
import java.time.Duration
import kotlin.time.Duration.Companion.ZERO
import kotlin.time.Duration.Companion.milliseconds

class WaitsSpec :
    FunSpec({
        timeout = 60_000

        test("should wait for the value of a counter, and leave it after a cancellation") {
            openDevice("embedded0").use { device ->
                val counter = device.completionCounter()
                counter.await(0) shouldBe 0
                withTimeoutOrNull(20) { counter.await(1) } shouldBe null
                coroutineScope {
                    val waiting = async(start = UNDISPATCHED) { counter.await(3) }
                    counter.increment(2)
                    waiting.isCompleted shouldBe false
                    counter.increment(2)
                    waiting.await() shouldBe 4
                }
                counter.set(-1) // the largest value, as it is unsigned
                counter.await(Long.MAX_VALUE) shouldBe -1
                shouldThrow<IllegalArgumentException> { counter.await(1, ZERO) }
                counter.set(0)
                coroutineScope {
                    val waiting = async(start = UNDISPATCHED) { runCatching { counter.await(1) } }
                    device.close()
                    (waiting.await().exceptionOrNull() is IllegalStateException) shouldBe true
                }
            }
        }

        test("should end the wait for a counter when an operation fails, but not for failures of before") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val dispatcher = device.completionDispatcher()
                val near = dispatcher.qp(pd, RC)
                val far = dispatcher.qp(pd, RC)
                val counter = device.completionCounter { count(near.queuePair, RDMA_WRITE) }
                near.connect(far.endpoint())
                far.connect(near.endpoint())
                val region = pd.memoryRegion(64, LOCAL_WRITE)
                counter.incrementErrors(5)
                coroutineScope {
                    val waiting = async(start = UNDISPATCHED) { runCatching { counter.await(1) } }
                    shouldThrow<WorkCompletionException> {
                        near.write(region[0, 8], to = RemoteMemory(region.remote().address(), 8, 0x1234))
                    }
                    val failure = waiting.await().exceptionOrNull() as CountedFailureException
                    failure.failures shouldBe 1
                }
                withTimeoutOrNull(20) { counter.await(1, 5.milliseconds) } shouldBe null
            }
        }

        test("should wait for the effect of an advice") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val region = pd.memoryRegion(8192) { access(LOCAL_WRITE, ON_DEMAND) }
                pd.awaitAdvice(MemoryAdvice.PREFETCH_WRITE, region[0, 4096])
            }
        }

        test("should find addresses, and wait for the events of a channel") {
            ConnectionEventChannel.open("embedded").use { channel ->
                channel.awaitAddressInfo("198.18.0.1", "7471", AddressHints.active(PortSpace.TCP)).shouldNotBeEmpty()
                withTimeoutOrNull(20) { channel.awaitEvent() } shouldBe null
                val address = InetSocketAddress(InetAddress.getByName("198.18.0.1"), 7471)
                coroutineScope {
                    val ids = List(3) { channel.id(PortSpace.TCP) }
                    val events = async { channel.events().take(2).toList() }
                    ids.take(2).forEach { it.resolveAddress(address, Duration.ofSeconds(5)) }
                    events.await().map { it.type() } shouldBe List(2) { ADDR_RESOLVED }
                    ids[2].resolveAddress(address, Duration.ofSeconds(5))
                    channel.awaitEvent().type() shouldBe ADDR_RESOLVED
                    val last = async(start = UNDISPATCHED) { runCatching { channel.events().first() } }
                    channel.close()
                    (last.await().exceptionOrNull() is IllegalStateException) shouldBe true
                }
            }
        }

        test("should receive tagged messages by the flow of their completion queue") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val dispatcher = device.completionDispatcher()
                val cq =
                    device.completionQueue(
                        CompletionQueueAttributes.of(64, dispatcher.channel).with(CompletionField.TAG_INFO),
                    )
                val queue = pd.srq { tags(8, cq) }
                val receiver =
                    pd.qp(RC) {
                        cq(cq)
                        srq(queue)
                    }
                val sender = dispatcher.qp(pd, RC)
                sender.connect(receiver.queuePair.endpoint())
                receiver.queuePair.connect(sender.endpoint())
                val region = pd.memoryRegion(4096, LOCAL_WRITE)
                queue.tagList().add(7, into = region[1024, 64], id = 5)
                TagHeader.eager(region[0, 24].memory(), 7, 1)
                sender.send(region[0, 24])
                val completion = dispatcher.completions(cq).first().orThrow()
                completion.opcode() shouldBe WorkCompletionOpcode.TM_RECV
                listOf(completion.workRequestId(), completion.matchedTag()) shouldBe listOf<Long>(5, 7)
            }
        }
    })
