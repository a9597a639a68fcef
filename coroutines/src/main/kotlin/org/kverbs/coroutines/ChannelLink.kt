package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionException
import org.kverbs.dsl.modify
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicReference

/**
 * What the parts of a [MessageChannel] share: its queue pair, its memory, the peer's window, and its end.
 * [ChannelMessage] says how.
 */
internal class ChannelLink(
    dispatcher: CompletionDispatcher,
    val memory: ChannelMemory,
    val settings: MessageChannelBuilder,
) {
    private val failure = AtomicReference<Throwable>()

    /** Why it is about to end: what had come until then is still to be taken out of the completion queue. */
    private val ending = AtomicReference<Throwable>()
    private val isClosing = AtomicBoolean()

    /**
     * What it means that the device flushes requests and none of this side's has failed, if there is more to say than
     * that.
     */
    @Volatile
    var whenFlushed: ConnectionException? = null
    val debts = ChannelDebts(settings.receiveSlots)
    val inbox = ChannelInbox(::gone)
    val large = LargeSends(settings.largeMessages)
    val remotes = RemoteNames()
    val outbox = ChannelOutbox(this)
    val arrivals = ChannelArrivals(this)

    // Younger than its memory, so that a device that is closed lets go of the queue pair first.
    val pair =
        try {
            ChannelQueuePair(dispatcher, memory, settings, ::failed) { outbox.sayWhatIsDue() }
        } catch (e: RuntimeException) {
            memory.close()
            throw e
        }
    val transfers = RemoteTransfers(pair.oneSided, memory)
    val fetches = ChannelFetches(this, transfers)
    val reception = ChannelReception(this)
    val keepAlive = ChannelKeepAlive(this)
    val lookups = ChannelLookups(this)
    private val receives = if (memory.receives == null) ChannelReceives(dispatcher, this) else null
    private val isLeaving = AtomicBoolean()

    @Volatile
    private var window: ChannelWindow? = null

    init {
        pair.queuePair.whenClosed(::closed)
    }

    /** Messages may come from now on. The queue pair must be in INIT, and not ready to receive yet. Once. */
    fun prepare() {
        receives?.postAll()
        memory.receives?.join(pair.queuePair, ChannelMemory.receives(settings), reception)
    }

    private fun closed() {
        val closed = ChannelClosedException("${pair.queuePair.describe()} of the message channel was closed")
        fail(ending.get() ?: closed)
        inbox.drop(checkNotNull(failure.get()))
        pair.end(closed)
        receives?.end(closed)
        closeAll(pair.windows, memory) // memory can't go while windows are bound to it
    }

    /** The peer has said what it can take. */
    @Synchronized
    fun start(
        hello: ByteArray,
        opening: Opening,
    ) {
        val started = ChannelWindow(ChannelHello.parse(hello), settings.slotSize, opening == Opening.LISTENS)
        check(window == null) { "the channel was started before; a channel has one peer" }
        window = started
        if (keepAlive.heard > 0) started.open()
        failure.get()?.let(started::fail)
        if (opening == Opening.SPEAKS) {
            debts.oweFirst()
            outbox.sayWhatIsDue()
        }
        settings.keepAlive?.let(keepAlive::begin)
    }

    fun window(): ChannelWindow =
        checkNotNull(window) { "the channel isn't started: call connect(endpoint, hello) with what the peer gave" }

    /** The peer said something. */
    fun heard() {
        keepAlive.heard()
        window?.open()
    }

    /** The peer gave credits back. */
    fun returned(credits: Int) {
        val now = window ?: throw ChannelProtocolException("the peer gave back $credits credits before any was used")
        now.returned(credits)
    }

    /** A message that cost the peer a credit has left the inbox, taken or dropped. */
    private fun gone(arrival: ChannelArrival) {
        if (!isAlive) return
        if (arrival.bytes != null) fetches.release(arrival) else fetches.drop()
        oweCredit()
    }

    /** The peer gets a credit back, now or with what is said next. */
    fun oweCredit() {
        debts.oweCredit()
        outbox.sayWhatIsDue()
    }

    /** How many messages that cost a credit were posted. */
    val sent: Long get() = window?.sent ?: 0

    val stats: ChannelStats
        get() {
            val credits = window?.credits
            val waiting = credits?.waitingCount ?: 0
            return ChannelStats(sent, keepAlive.heard, credits?.available ?: 0, waiting, inbox.size)
        }

    private val cause: Throwable? get() = failure.get() ?: ending.get()

    /** Whether something can be sent. */
    val isAlive: Boolean get() = cause == null

    /** Whether messages that come are taken, which they still are while it [failBehind]. */
    val takesMessages: Boolean get() = failure.get() == null

    fun checkAlive() {
        cause?.let { throw it }
    }

    /**
     * Runs a call of the user. What fails because the channel ends under it fails with the cause of that, in an
     * exception of its own.
     */
    suspend inline fun <T> reporting(call: () -> T): T =
        try {
            call()
        } catch (e: CancellationException) {
            throw e
        } catch (e: IllegalStateException) {
            throw cause?.calledHere() ?: e
        } catch (e: WorkRequestException) {
            failBehind(e) // credits that would have gone with it are lost
            val why = checkNotNull(cause)
            throw if (why === e) e else why.calledHere()
        } catch (e: RdmaException) {
            val why = cause ?: meaningOf(e)
            throw if (why === e) e else why.calledHere()
        }

    /** A request that fails as the connection has ended says that it has. */
    private fun meaningOf(failure: Throwable): Throwable {
        if (failure !is WorkCompletionException) return failure
        keepAlive.meaningOf(failure)?.let { return it }
        val isExplained = failure.status() != WorkCompletionStatus.WR_FLUSH_ERR || failure.cause != null
        return ending.get() ?: whenFlushed?.takeUnless { isExplained } ?: failure
    }

    /** Tells the peer if it can, and ends all. */
    fun close() {
        if (window?.isOpen == true && isAlive && isClosing.compareAndSet(false, true)) outbox.sayClose()
        fail(ending.get() ?: ChannelClosedException("the message channel was closed by this side"))
        val shared = memory.receives
        if (shared == null) {
            pair.queuePair.close()
        } else if (isLeaving.compareAndSet(false, true)) {
            // A device may forget what a closed queue pair has received, and with it which shared slots are free.
            shared.polled.onceEmptied { closeAll(pair.windows, pair.queuePair) }
        }
    }

    private fun MemorySlice.remote() = region().remote().slice(offset(), length())

    /**
     * Lets the peer reach memory of a region, at most until that closes.
     *
     * @param local the same memory as requests of the queue pair name it
     * @param unused called if this throws, when the memory may go; that may be later
     */
    suspend fun admit(
        region: MemoryRegion,
        local: MemorySlice,
        access: Collection<AccessFlag>,
        unused: () -> Unit,
    ): ChannelAdmission {
        val windows = pair.windows ?: return ChannelAdmission(local.remote()) {}
        val bound = windows.bind(region, local, access, unused)
        return ChannelAdmission(bound.remote, bound::close)
    }

    private suspend fun ChannelWindows.bind(
        region: MemoryRegion,
        local: MemorySlice,
        access: Collection<AccessFlag>,
        unused: () -> Unit,
    ): ChannelWindows.Bound {
        val mask = AccessFlag.mask(access)
        return bind(local, mask, { memory.closeWith(region, it) }, { memory.forget(region, it) }, unused)
    }

    /**
     * Lets the peer read a part of a buffer, until what is returned is closed.
     *
     * @param part as the buffer names it
     * @param local as requests of the queue pair name it
     */
    suspend fun lend(
        buffer: RegisteredBuffer,
        part: MemorySlice,
        local: MemorySlice,
    ): LentBuffer {
        val windows = pair.windows
        buffer.pin()
        if (windows == null) return LentBuffer(local.remote(), buffer) { it() }
        val bound = windows.bind(part.region(), local, READ, buffer::unpin)
        return LentBuffer(bound.remote, buffer) { windows.end(bound, it) }
    }

    /**
     * Ends the channel as [fail] does, but behind the messages whose completions stand in the completion queues: for
     * what is learned elsewhere than where they stand. Any thread.
     */
    fun failBehind(cause: Throwable) {
        val first = meaningOf(cause)
        if (!ending.compareAndSet(null, first)) return
        stop()
        val shared = memory.receives
        if (shared == null) {
            pair.polled.onceEmptied { fail(first) }
        } else {
            shared.polled.onceEmptied { pair.polled.onceEmptied { fail(first) } }
        }
    }

    /** A request failed. Shared receives are not flushed then, so that nothing else may tell of the end. */
    private fun failed(cause: WorkCompletionException) {
        if (memory.receives != null && takesMessages) failBehind(cause)
    }

    /**
     * Ends the channel: every wait with [cause], or what it means. Messages that have come can still be taken. The
     * first cause counts. Any thread, but see [failBehind].
     */
    fun fail(cause: Throwable) {
        val first = meaningOf(cause)
        if (!failure.compareAndSet(null, first)) return
        stop() // before any memory is given up that the peer could still reach
        end(first)
    }

    private fun stop() {
        try {
            pair.queuePair.modify { state(QueuePairState.ERR) }
        } catch (_: RuntimeException) {
            // closed, or the device is gone: the peer reaches nothing through it
        }
    }

    private fun end(cause: Throwable) {
        inbox.fail(cause)
        fetches.end()
        window?.fail(cause)
        large.fail(cause)
        remotes.end(cause)
        lookups.fail(cause)
        keepAlive.end()
    }

    private companion object {
        val READ = setOf(AccessFlag.REMOTE_READ)
    }
}
