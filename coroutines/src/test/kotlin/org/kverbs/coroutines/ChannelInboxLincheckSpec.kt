package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import org.jetbrains.lincheck.datastructures.Operation

private const val DROPPED =
    "this side has disconnected and dropped messages that came: receive them before disconnect()"

/** An inbox with numbered messages, and the polling thread that fills it. */
abstract class FilledInbox {
    private val gone = HashSet<ChannelArrival>()
    private val inbox =
        ChannelInbox(
            isAhead = true,
            { arrival -> synchronized(begun) { begun.addLast(arrival) } },
        ) { arrival, _ -> check(synchronized(gone) { gone.add(arrival) }) { "a message left twice" } }
    private val pollingThread = Any()
    private val begun = ArrayDeque<ChannelArrival>()
    private var sent: Byte = 0

    protected suspend fun takeNext(): String = told(inbox.take())

    /** Takes a message as a receiver with a buffer does, and reads it if it lies at the peer. */
    protected suspend fun readNext(): String {
        val arrival = inbox.take(reads = true)
        if (arrival == null || arrival.bytes != null) return told(arrival)
        inbox.received(arrival)
        return arrival.id.toString()
    }

    protected fun takeIfHere(): String {
        val taken = inbox.tryTake()
        return if (taken == null && !inbox.isAtEnd) "nothing" else told(taken)
    }

    private fun told(arrival: ChannelArrival?): String =
        arrival?.bytes?.single()?.toString() ?: inbox.cause?.message ?: "the end"

    protected fun sendOne(): String =
        synchronized(pollingThread) {
            unlessRefused { inbox.add(ChannelArrival(byteArrayOf(sent))) }
        }

    protected fun announceOne(): String =
        synchronized(pollingThread) {
            unlessRefused { inbox.add(offered(sent.toInt())) }
        }

    protected fun fetchOne(): Unit =
        synchronized(pollingThread) {
            val arrival = synchronized(begun) { begun.removeFirstOrNull() } ?: return
            if (inbox.claim(arrival)) inbox.complete(arrival, byteArrayOf(arrival.id.toByte()))
        }

    private fun unlessRefused(add: () -> Unit): String =
        try {
            sent++
            add()
            "sent"
        } catch (_: ChannelProtocolException) {
            "refused"
        }

    protected fun finishIt(): Unit = synchronized(pollingThread) { inbox.finish() }

    protected fun failIt(): Unit = inbox.fail(ChannelClosedException("failed"))

    protected fun dropAll(): Unit = inbox.drop(ChannelClosedException("dropped"))

    protected fun disconnectIt(): Unit = inbox.drop(null)
}

/**
 * The class that Lincheck creates many times and runs with several threads. Receivers can be cancelled while they wait.
 */
class InboxUnderLincheck : FilledInbox() {
    @Operation
    suspend fun take(): String = takeNext()

    @Operation
    suspend fun read(): String = readNext()

    @Operation
    fun tryTake(): String = takeIfHere()

    @Operation
    fun send(): String = sendOne()

    @Operation
    fun announce(): String = announceOne()

    @Operation
    fun fetch(): Unit = fetchOne()

    @Operation
    fun finish(): Unit = finishIt()

    @Operation
    fun fail(): Unit = failIt()

    @Operation
    fun drop(): Unit = dropAll()

    @Operation
    fun disconnect(): Unit = disconnectIt()
}

/** The same with receivers that can be cancelled after they were woken and before they run. */
class InboxOfLateReceivers : FilledInbox() {
    @Operation(promptCancellation = true)
    suspend fun take(): String = takeNext()

    @Operation(promptCancellation = true)
    suspend fun read(): String = readNext()

    @Operation
    fun send(): String = sendOne()

    @Operation
    fun announce(): String = announceOne()

    @Operation
    fun fetch(): Unit = fetchOne()

    @Operation
    fun finish(): Unit = finishIt()

    @Operation
    fun fail(): Unit = failIt()

    @Operation
    fun drop(): Unit = dropAll()

    @Operation
    fun disconnect(): Unit = disconnectIt()
}

/** A simple model of an inbox for one thread. */
class InboxInWords {
    private class Message(
        val number: Int,
        var isHere: Boolean,
        var isBegun: Boolean = false,
        var wasPutBack: Boolean = false,
    )

    private class Waiter(
        val reads: Boolean,
        val continuation: CancellableContinuation<Message?>,
    )

    private val messages = ArrayDeque<Message>()
    private val begun = ArrayDeque<Message>()
    private val waiting = ArrayDeque<Waiter>()
    private var sent = 0
    private var isSomebodyWoken = false
    private var reading = 0
    private var hasPeerFinished = false
    private var hasFailed = false
    private var isEnded = false
    private var isDropping = false
    private var cause: String? = null

    private val isOver get() = isEnded && messages.isEmpty() && reading == 0
    private val isReady get() = isOver || messages.firstOrNull()?.isHere == true
    private val isOffered get() = messages.firstOrNull()?.isHere == false

    suspend fun take(): String = take(reads = false)

    suspend fun read(): String = take(reads = true)

    private suspend fun take(reads: Boolean): String {
        if (isSomebodyWoken || waiting.isNotEmpty() || !(isReady || (reads && isOffered))) {
            val given = suspendCancellableCoroutine<Message?> { waiting.addLast(Waiter(reads, it)) }
            if (given != null) {
                reading--
                return given.number.toString().also { wake() }
            }
            isSomebodyWoken = false
        } else if (isOffered) {
            return messages.removeFirst().number.toString().also { wake() }
        }
        return first().also { wake() }
    }

    fun tryTake(): String =
        when {
            !isSomebodyWoken && waiting.isEmpty() && isReady -> first().also { wake() }
            isOver -> first()
            else -> "nothing"
        }

    private fun first(): String {
        val here = messages.firstOrNull { it.isHere } ?: return cause ?: "the end"
        messages.remove(here)
        return here.number.toString()
    }

    private fun wake() {
        while (!isSomebodyWoken) {
            val next = waiting.firstOrNull() ?: break
            val given = if (next.reads && isOffered) messages.first() else null
            if (given == null && !isReady) break
            waiting.removeFirst()
            if (!next.continuation.isActive) continue
            if (given == null) isSomebodyWoken = true else give()
            next.continuation.resume(given) { _, _, _ ->
                if (given == null) isSomebodyWoken = false else putBack(given)
                wake()
            }
        }
        for (message in messages) {
            if (message.isHere || message.isBegun || (message.wasPutBack && message !== messages.first())) continue
            begun.addLast(message.also { it.isBegun = true })
        }
    }

    private fun give() {
        messages.removeFirst()
        reading++
    }

    private fun putBack(given: Message) {
        reading--
        if (isDropping) cause = cause ?: DROPPED
        if (hasFailed) messages.removeAll { it.number > given.number }
        if (isDropping || hasFailed) return
        given.isBegun = false
        given.wasPutBack = true
        val later = messages.indexOfFirst { it.number > given.number }
        messages.add(if (later < 0) messages.size else later, given)
    }

    fun send(): String = add(isHere = true)

    fun announce(): String = add(isHere = false)

    private fun add(isHere: Boolean): String {
        val message = Message(++sent, isHere)
        if (hasPeerFinished) return "refused"
        if (!isEnded && !isDropping) messages.addLast(message)
        if (!isEnded && isDropping) cause = cause ?: DROPPED
        wake()
        return "sent"
    }

    fun fetch() {
        begun.removeFirstOrNull()?.takeIf { it in messages }?.isHere = true
        wake()
    }

    fun finish() {
        hasPeerFinished = true
        isEnded = true
        wake()
    }

    fun fail() {
        val isCut = messages.any { !it.isHere } || reading > 0
        while (messages.any { !it.isHere }) messages.removeLast()
        if (!isEnded || isCut) cause = cause ?: "failed"
        isEnded = true
        hasFailed = true
        wake()
    }

    fun drop(): Unit =
        dropThen {
            isEnded = true
            cause = cause ?: "dropped"
        }

    fun disconnect(): Unit = dropThen { if (messages.isNotEmpty()) cause = cause ?: DROPPED }

    private fun dropThen(end: () -> Unit) {
        if (isDropping || isOver) return
        isDropping = true
        end()
        messages.clear()
        wake()
    }
}

class ChannelInboxLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        for (inbox in listOf(InboxUnderLincheck::class, InboxOfLateReceivers::class)) {
            test(
                "should hand over messages and ends as one thread would, in every order that model checking tries " +
                    "(${inbox.simpleName})",
            ) {
                checkOrders(inbox, InboxInWords::class, iterations = 5)
            }

            test("should hand over messages and ends as one thread would, under stress (${inbox.simpleName})") {
                checkUnderStress(inbox, InboxInWords::class)
            }
        }
    })
