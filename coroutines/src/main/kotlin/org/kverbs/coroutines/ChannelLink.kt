package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import org.kverbs.AccessFlag
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePairState
import org.kverbs.RdmaException
import org.kverbs.WorkRequestException
import org.kverbs.dsl.modify
import java.util.concurrent.atomic.AtomicReference

/** What the parts of a [MessageChannel] share: its queue pair, its slots, the peer's window, and its end. [ChannelMessage] says how. */
internal class ChannelLink(
    dispatcher: CompletionDispatcher,
    pd: ProtectionDomain,
    val settings: MessageChannelSettings,
) {
    private val receiveCount = settings.receiveSlots + settings.largeMessages + ChannelMessage.CONTROL_SLOTS
    private val receiveMemory = pd.memoryRegion(receiveCount.toLong() * settings.slotSize, AccessFlag.LOCAL_WRITE)
    private val failure = AtomicReference<Throwable>()
    val debts = ChannelDebts(settings.receiveSlots)
    val inbox = ChannelInbox()
    val large = LargeSends(settings.largeMessages)
    val remotes = RemoteNames()
    val outbox = ChannelOutbox(this, pd)
    val arrivals = ChannelArrivals(this)

    // Younger than its memory, so that a device that is closed lets go of the queue pair first.
    val pair = ChannelQueuePair(dispatcher, pd, settings, receiveCount) { outbox.sayWhatIsDue() }
    val receives = ChannelReceives(dispatcher, this, receiveMemory)

    @Volatile
    private var window: ChannelWindow? = null

    init {
        pair.queuePair.whenClosed(::closed)
    }

    private fun closed() {
        val closed = ChannelClosedException("${pair.queuePair.describe()} of the message channel was closed")
        fail(closed)
        inbox.discard(checkNotNull(failure.get()))
        pair.end(closed)
        receives.end(closed)
        receiveMemory.close()
        outbox.free()
    }

    /** The peer has said what it can take. */
    @Synchronized
    fun start(hello: ByteArray) {
        val started = ChannelWindow(ChannelHello.parse(hello), settings.slotSize)
        check(window == null) { "the channel was started before; a channel has one peer" }
        window = started
        failure.get()?.let(started.credits::fail)
    }

    fun window(): ChannelWindow =
        checkNotNull(window) { "the channel isn't started: exchange the hellos, connect the queue pair, then call start(peerHello)" }

    /** The peer gave credits back. */
    fun returned(credits: Int) {
        val now = window ?: throw ChannelProtocolException("the peer gave back $credits credits before any was used")
        now.returned(credits)
    }

    val isAlive: Boolean get() = failure.get() == null

    fun checkAlive() {
        failure.get()?.let { throw it }
    }

    /** Runs a call of the user. What fails because the channel ends under it fails with the cause of that. */
    inline fun <T> reporting(call: () -> T): T =
        try {
            call()
        } catch (e: CancellationException) {
            throw e
        } catch (e: IllegalStateException) {
            throw failure.get() ?: e
        } catch (e: WorkRequestException) {
            fail(e) // credits that would have gone with it are lost
            throw checkNotNull(failure.get())
        } catch (e: RdmaException) {
            throw failure.get() ?: e
        }

    /** Tells the peer if it can, and ends all. */
    @Synchronized
    fun close() {
        if (window != null && isAlive) outbox.sayClose()
        fail(ChannelClosedException("the message channel was closed by this side"))
        pair.queuePair.close()
    }

    /** Ends the channel: every wait with [cause]. Messages that have come can still be taken. The first cause counts. Any thread. */
    fun fail(cause: Throwable) {
        if (!failure.compareAndSet(null, cause)) return
        // Before any memory is given up that the peer could still reach.
        try {
            pair.queuePair.modify { state(QueuePairState.ERR) }
        } catch (_: RuntimeException) {
            // closed, or the device is gone: the peer reaches nothing through it
        }
        inbox.end(cause)
        window?.credits?.fail(cause)
        large.fail(cause)
        remotes.end(cause)
    }
}
