package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.withTimeout
import org.kverbs.Context
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.RC
import org.kverbs.dsl.connect
import org.kverbs.dsl.get
import org.kverbs.dsl.openDevice
import org.kverbs.dsl.qp
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Errno
import org.kverbs.embedded.Failure
import org.kverbs.embedded.Operation
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

/** A device's channels that share receives, or have their own, each with its peer's. */
private class Links(
    private val device: Context,
    isShared: Boolean,
) {
    private val dispatcher = device.completionDispatcher()
    private val settings = MessageChannelBuilder()
    val shared = if (isShared) checkNotNull(SharedChannels.of(device, dispatcher)) else null

    fun pair(): Pair<ChannelLink, ChannelLink> {
        val link = ChannelLink(dispatcher, shared?.memory(settings) ?: ownMemory(), settings)
        val peer = ChannelLink(dispatcher, ownMemory(), settings)
        val ends = listOf(link, peer).map { it.pair.queuePair }
        ends.forEach { it.init(ConnectOptions.DEFAULTS) }
        listOf(link, peer).forEach { it.prepare() }
        ends[0].connect(ends[1].endpoint())
        ends[1].connect(ends[0].endpoint())
        listOf(link, peer).forEach { it.start(settings.hello(), Opening.FREE) }
        return link to peer
    }

    private fun ownMemory() = PrivateMemory(device.protectionDomain(), settings)
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

        test("should give a message to its receiver although the fetch of the next one can't begin") {
            var planted: Error? = null
            val broken = mutableListOf<Throwable>()
            val inbox = ChannelInbox(isAhead = true, { planted?.let { throw it } }, broken::add) { _, _ -> }
            val messages = List(2) { offered(it + 1) }
            messages.forEach(inbox::add)
            repeat(2) { inbox.take(reads = true) }
            messages.forEach(inbox::putBack) // the second is fetched when it is the first
            inbox.claim(messages[0])
            inbox.complete(messages[0], ByteArray(1))
            planted = OutOfMemoryError("planted")
            inbox.tryTake()?.bytes?.size shouldBe 1
            broken shouldBe listOf(planted)
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

        for ((receives, isShared) in listOf("its own receives" to false, "shared receives" to true)) {
            test("should end a channel with $receives by the error of a message that it could not take, and no other") {
                openDevice("embedded0").use { device ->
                    val links = Links(device, isShared)
                    val (link, peer) = links.pair()
                    val (other, otherPeer) = links.pair()
                    peer.debts.oweDone(link.large.add(Pinned(isBroken = true), null))
                    peer.outbox.sayWhatIsDue()
                    withTimeout(10.seconds) { link.inbox.take() } shouldBe null
                    link.inbox.cause.shouldBeInstanceOf<OutOfMemoryError>().message shouldBe "planted"
                    otherPeer.outbox.send(ChannelMessage.DATA, 3) {}
                    withTimeout(10.seconds) { other.inbox.take() }?.bytes?.size shouldBe 3
                }
            }
        }

        test("should lose a shared slot alone that is refused after a message of a channel that is gone") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val device = fabric.addDevice()
                val context = device.open()
                val links = Links(context, isShared = true)
                val (link, peer) = links.pair()
                val shared = checkNotNull(links.shared)
                val cq = context.completionQueue(8)
                val gone =
                    shared.pd.qp(RC) {
                        cq(cq)
                        srq(shared.receives.queue)
                        recvCq(shared.receives.cq)
                    }
                val sender = shared.pd.qp(RC) { cq(cq) }
                gone.connect(sender.queuePair.endpoint())
                sender.connect(gone.queuePair.endpoint())
                fabric.inject(device, Failure.of(Operation.POST_RECEIVE, Errno.ENOMEM))
                sender.queuePair.postSend(1, shared.pd.memoryRegion(64)[0, 64])
                peer.outbox.send(ChannelMessage.DATA, 3) {}
                withTimeout(10.seconds) { link.inbox.take() }?.bytes?.size shouldBe 3
            }
        }
    })
