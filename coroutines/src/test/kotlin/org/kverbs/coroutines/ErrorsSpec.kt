package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.withTimeout
import org.kverbs.Context
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.get
import org.kverbs.dsl.openDevice
import kotlin.time.Duration.Companion.seconds

/** The memory of a channel, without memory for credits and the like, and for publications. */
private class FailingMemory(
    private val memory: ChannelMemory,
) : ChannelMemory by memory {
    val givenBack = mutableListOf<MemoryRegion>()

    override fun control(number: Int): MemorySlice = throw OutOfMemoryError("planted")

    override fun local(memory: MemorySlice): MemorySlice? = throw OutOfMemoryError("planted")

    override fun giveBack(region: MemoryRegion) {
        memory.giveBack(region)
        givenBack += region
    }
}

/** Two channels that are connected, the second with [FailingMemory]. */
private fun withFailingMemory(device: Context): Triple<MessageChannel, MessageChannel, FailingMemory> {
    val dispatcher = device.completionDispatcher()
    val settings = MessageChannelBuilder().apply { receiveSlots(2) }
    val memory = FailingMemory(PrivateMemory(device.protectionDomain(), settings))
    val failing = MessageChannel(dispatcher, memory, settings)
    val other = dispatcher.messageChannel(device.protectionDomain())
    val place = other.queuePair.endpoint()
    other.connect(failing.queuePair.endpoint(), failing.hello)
    failing.connect(place, other.hello)
    return Triple(other, failing, memory)
}

/** Tests that a call that throws an Error, as for want of memory, keeps nothing that others wait for. */
class ErrorsSpec :
    FunSpec({
        timeout = 60_000

        test("should not give the turn to a receiver of messages that threw an error as it began to wait") {
            val inbox =
                ChannelInbox(isAhead = false, { if (it.id == 2) throw OutOfMemoryError("planted") }) { _, _ -> }
            val messages = List(2) { offered(it + 1) }
            coroutineScope {
                val first = async(start = UNDISPATCHED) { inbox.take() }
                messages.forEach(inbox::add)
                shouldThrow<OutOfMemoryError> { inbox.take() }
                val next = async(start = UNDISPATCHED) { inbox.take() }
                for (message in messages) {
                    inbox.claim(message)
                    inbox.complete(message, ByteArray(message.id))
                }
                withTimeout(10.seconds) { first.await()?.bytes?.size shouldBe 1 }
                withTimeout(10.seconds) { next.await()?.bytes?.size shouldBe 2 }
            }
        }

        test("should receive a message whose credit can't be given back, and end the channel") {
            openDevice("embedded0").use { device ->
                val (sender, receiver) = withFailingMemory(device)
                sender.send(ByteArray(3))
                withTimeout(10.seconds) { receiver.receive().size shouldBe 3 }
                receiver.isOpen shouldBe false
                shouldThrow<OutOfMemoryError> { withTimeout(10.seconds) { receiver.receive() } }
            }
        }

        test("should unregister memory that could not be published") {
            openDevice("embedded0").use { device ->
                val (_, publisher, memory) = withFailingMemory(device)
                shouldThrow<OutOfMemoryError> { publisher.publish("name", 64, AccessFlag.REMOTE_READ) }
                memory.givenBack.single().isOpen shouldBe false
            }
        }

        test("should bind the next window after an error before a window was bound") {
            TwoEnds().use { ends ->
                val end = ends.client
                val memory = end.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)[0, 64]
                val windows = ChannelWindows(end.dispatcher, end.qp.queuePair, end.dispatcher.reserve(1), 1, Failures())
                var unused = 0

                suspend fun bind(begun: (ChannelWindows.Bound) -> Unit) =
                    windows.bind(memory, AccessFlag.mask(setOf(AccessFlag.REMOTE_READ)), begun, {}) { unused++ }
                shouldThrow<OutOfMemoryError> { bind { throw OutOfMemoryError("planted") } }
                unused shouldBe 1
                withTimeout(10.seconds) { bind {} }.window.isOpen shouldBe true
            }
        }
    })
