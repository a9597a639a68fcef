package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
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
import org.kverbs.internal.jfr.FlightRecords
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicReference

/**
 * Connects the parts of a [MessageChannel]: its queue pair, its memory, the peer's window, and its end.
 * [ChannelMessage] describes the protocol.
 */
internal class ChannelLink(
    dispatcher: CompletionDispatcher,
    val memory: ChannelMemory,
    val settings: MessageChannelBuilder,
) {
    private val failure = AtomicReference<Throwable>()

    /** The reason of an end that is under way: messages that arrived before are still in the completion queue. */
    private val ending = AtomicReference<Throwable>()
    private val isClosing = AtomicBoolean()

    /**
     * The failure to report when the device flushes requests although no request of this side has failed; null if only
     * the flush is known.
     */
    @Volatile
    var whenFlushed: ConnectionException? = null

    /** True if the peer has said, as it closed, that it has all messages of this side. */
    @Volatile
    var peerHasAll = false
        private set

    /** Completes when the channel has ended, and the messages that had arrived before were handled. */
    private val over = CompletableDeferred<Unit>()
    val debts = ChannelDebts(settings.receiveSlots)
    val inbox = ChannelInbox(settings.fetchAhead > 0, { fetches.begin(it) }, ::fail, ::gone)
    val large = LargeSends(settings.largeMessages)
    val remotes = RemoteNames()
    val outbox = ChannelOutbox(this)
    val arrivals = ChannelArrivals(this)

    // Created after the memory, because a device closes its newest children first: the queue pair before the memory.
    val pair =
        try {
            ChannelQueuePair(dispatcher, memory, settings, ::failed) { outbox.sayWhatIsDue() }
        } catch (e: Throwable) {
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

    /** Posts the receives, so that messages can come. Call it once, while the queue pair is in INIT. */
    fun prepare() {
        receives?.postAll()
        memory.receives?.join(pair.queuePair, ChannelMemory.receives(settings), reception)
    }

    private fun closed() {
        val closed = ChannelClosedException("${pair.queuePair.describe()} of the message channel was closed")
        closeAll(
            { fail(ending.get() ?: closed) },
            { inbox.drop(checkNotNull(failure.get())) },
            { pair.end(closed) },
            { receives?.end(closed) },
            pair.windows, // the device keeps memory that windows are bound to
            memory,
        )
    }

    /** Begins to send, within the limits of the peer's hello. */
    @Synchronized
    fun start(
        hello: ByteArray,
        opening: Opening,
    ) {
        val started =
            ChannelWindow(ChannelHello.parse(hello), settings.slotSize, opening == Opening.LISTENS, pair.queuePair)
        check(window == null) { "the channel has a peer already; make another channel for another peer" }
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

    /** Notes that the peer has sent something. */
    fun heard() {
        keepAlive.heard()
        window?.open()
    }

    /** Takes credits that the peer gave back. */
    fun returned(credits: Int) {
        val now = window ?: throw ChannelProtocolException("the peer gave back $credits credits before any was used")
        now.returned(credits)
    }

    /** Returns whether the device can read from the peer's memory into a buffer. */
    fun canReadInto(buffer: RegisteredBuffer): Boolean {
        val all = buffer.all()
        return AccessFlag.LOCAL_WRITE in all.region().access() && memory.local(all) != null
    }

    /** Gives a credit back for a message that has left the inbox, taken or dropped. */
    private fun gone(
        arrival: ChannelArrival,
        how: ChannelInbox.Gone,
    ) {
        if (!isAlive) return
        when (how) {
            ChannelInbox.Gone.HERE -> {
                fetches.release(arrival.held, arrival.length)
            }

            ChannelInbox.Gone.READ -> {
                debts.oweDone(arrival.id)
            }

            ChannelInbox.Gone.UNREAD -> {
                fetches.drop()
                fetches.dropped(arrival)
            }

            ChannelInbox.Gone.FETCHED -> {
                fetches.drop()
            }
        }
        oweCredit()
    }

    /** Gives a credit back to the peer, now or with the next message. */
    fun oweCredit() {
        debts.oweCredit()
        outbox.sayWhatIsDue()
    }

    /** Number of posted messages that cost a credit. */
    val sent: Long get() = window?.sent ?: 0

    val stats: ChannelStats
        get() {
            val credits = window?.credits
            val waiting = credits?.waitingCount ?: 0
            return ChannelStats(sent, debts.arrivals, credits?.available ?: 0, waiting, inbox.size)
        }

    private val cause: Throwable? get() = failure.get() ?: ending.get()

    /** True if the channel can send. */
    val isAlive: Boolean get() = cause == null

    /** True if the channel still takes messages that have arrived, as it does during [failBehind]. */
    val takesMessages: Boolean get() = failure.get() == null

    fun checkAlive() {
        cause?.let { throw it }
    }

    /**
     * Runs a call of the program. If the call fails because the channel ends, throws the cause of that end in an
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
            failBehind(e) // the credits that the refused message carried are lost
            val why = checkNotNull(cause)
            throw if (why === e) e else why.calledHere()
        } catch (e: RdmaException) {
            val why = cause ?: meaningOf(e)
            throw if (why === e) e else why.calledHere()
        }

    /** Returns the end of the connection if it made the request fail, otherwise the failure. */
    private fun meaningOf(failure: Throwable): Throwable {
        if (failure !is WorkCompletionException) return failure
        keepAlive.meaningOf(failure)?.let { return it }
        val isExplained = failure.status() != WorkCompletionStatus.WR_FLUSH_ERR || failure.cause != null
        return ending.get() ?: whenFlushed?.takeUnless { isExplained } ?: failure
    }

    /** Tells the peer if possible, and ends everything. */
    fun close() {
        if (window?.isOpen == true && isAlive && isClosing.compareAndSet(false, true)) outbox.sayClose()
        val end = ending.get() ?: ChannelClosedException("the message channel was closed by this side")
        closeAll({ fail(end) }, ::closeQueuePair)
    }

    private fun closeQueuePair() {
        val shared = memory.receives
        if (shared == null) {
            pair.queuePair.close()
        } else if (isLeaving.compareAndSet(false, true)) {
            // A device can drop the completions of a closed queue pair, and with them which shared slots are free.
            shared.polled.onceEmptied { closeAll(pair.windows, pair.queuePair) }
        }
    }

    private fun MemorySlice.remote() = region().remote().slice(offset(), length())

    /**
     * Gives the peer access to memory of a region, at most until the region closes.
     *
     * @param local the same memory with the lkey that the queue pair's requests need
     * @param unused called if this throws, as soon as the device no longer uses the memory; that can be later
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
     * Lets the peer read a part of a buffer, until the returned [LentBuffer] is closed.
     *
     * @param part the part in the buffer's region
     * @param local the same bytes with the lkey that the queue pair's requests need
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
     * Ends the channel as [fail] does, but only after the messages whose completions are in the completion queues: for
     * a failure that was not learned from those queues. Any thread can call.
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

    /**
     * Ends a channel with shared receives when a request failed: the device does not flush shared receives, so nothing
     * else reports the end.
     */
    private fun failed(cause: WorkCompletionException) {
        if (memory.receives != null && takesMessages) failBehind(cause)
    }

    /**
     * Ends the channel: every wait fails with [cause], or with the end of the connection behind it. Messages that have
     * arrived can still be taken. The first cause counts. Any thread can call, but see [failBehind].
     */
    fun fail(cause: Throwable) {
        val first = if (cause is ChannelProtocolException) cause.of(pair.failures.peer) else meaningOf(cause)
        if (!failure.compareAndSet(null, first)) return
        val hasBothEnds = outbox.finished && inbox.peerHasFinished
        if (first !is ChannelClosedException && !hasBothEnds) {
            FlightRecords.channelFailed(memory.pd.context().device().name(), pair.queuePair.number(), first)
        }
        try {
            stop() // before memory is freed that the peer can still reach
            end(first)
        } finally {
            over.wake(Unit) // finish() waits for it
        }
    }

    /**
     * Returns whether the peer has all messages of this side, after a failure of the channel or of one of its requests.
     * Suspends until the messages that had arrived before are handled: the peer's LEAVE can be in another completion
     * queue than the request.
     */
    suspend fun hadPeerAll(failure: RdmaException): Boolean {
        if (failure is WorkCompletionException) failBehind(failure)
        if (!isAlive) over.await()
        return peerHasAll
    }

    /** Ends the channel because of a peer that has all messages of this side, and tells so as it closes. */
    fun left(cause: Throwable) {
        peerHasAll = true
        fail(cause)
    }

    private fun stop() {
        try {
            pair.queuePair.modify { state(QueuePairState.ERR) }
        } catch (_: RuntimeException) {
            // the queue pair is closed or the device is gone: the peer reaches no memory through it
        }
    }

    private fun end(cause: Throwable) {
        closeAll(
            { inbox.fail(cause) },
            { fetches.end() },
            { window?.fail(cause) },
            { large.end(cause, areRead = peerHasAll) },
            { remotes.end(cause) },
            { lookups.fail(cause) },
            { keepAlive.end() },
        )
    }

    private companion object {
        val READ = setOf(AccessFlag.REMOTE_READ)
    }
}
