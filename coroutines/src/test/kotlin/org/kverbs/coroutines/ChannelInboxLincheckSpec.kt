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
    private val inbox = ChannelInbox { check(synchronized(gone) { gone.add(it) }) { "a message left twice" } }
    private val pollingThread = Any()
    private val announced = ArrayDeque<Pair<ChannelArrival, Byte>>()
    private var sent: Byte = 0

    protected suspend fun takeNext(): String = told(inbox.take())

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
            val arrival = ChannelArrival(1, null)
            unlessRefused {
                inbox.add(arrival)
                announced.addLast(arrival to sent)
            }
        }

    protected fun fetchOne(): Unit =
        synchronized(pollingThread) {
            val (arrival, number) = announced.removeFirstOrNull() ?: return
            inbox.complete(arrival, byteArrayOf(number))
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

    @Operation
    fun send(): String = sendOne()

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
    )

    private val messages = ArrayDeque<Message>()
    private val announced = ArrayDeque<Message>()
    private val waiting = ArrayDeque<CancellableContinuation<Unit>>()
    private var sent = 0
    private var isSomebodyWoken = false
    private var hasPeerFinished = false
    private var isEnded = false
    private var isDropping = false
    private var cause: String? = null

    private val isReady get() = messages.firstOrNull()?.isHere ?: isEnded

    suspend fun take(): String {
        if (isSomebodyWoken || waiting.isNotEmpty() || !isReady) {
            suspendCancellableCoroutine { waiting.addLast(it) }
            isSomebodyWoken = false
        }
        return first().also { wake() }
    }

    fun tryTake(): String =
        when {
            !isSomebodyWoken && waiting.isEmpty() && isReady -> first()
            isEnded && messages.isEmpty() -> first()
            else -> "nothing"
        }

    private fun first(): String = messages.removeFirstOrNull()?.number?.toString() ?: cause ?: "the end"

    private fun wake() {
        while (!isSomebodyWoken && isReady) {
            val next = waiting.removeFirstOrNull() ?: return
            if (!next.isActive) continue
            isSomebodyWoken = true
            next.resume(Unit) { _, _, _ ->
                isSomebodyWoken = false
                wake()
            }
        }
    }

    fun send(): String = add(isHere = true)

    fun announce(): String = add(isHere = false)

    private fun add(isHere: Boolean): String {
        val message = Message(++sent, isHere)
        if (hasPeerFinished) return "refused"
        if (!isHere) announced.addLast(message)
        if (!isEnded && !isDropping) messages.addLast(message)
        if (!isEnded && isDropping) cause = cause ?: DROPPED
        wake()
        return "sent"
    }

    fun fetch() {
        announced.removeFirstOrNull()?.isHere = true
        wake()
    }

    fun finish() {
        hasPeerFinished = true
        isEnded = true
        wake()
    }

    fun fail() {
        val isCut = messages.any { !it.isHere }
        while (messages.any { !it.isHere }) messages.removeLast()
        if (!isEnded || isCut) cause = cause ?: "failed"
        isEnded = true
        wake()
    }

    fun drop(): Unit =
        dropThen {
            isEnded = true
            cause = cause ?: "dropped"
        }

    fun disconnect(): Unit = dropThen { if (messages.isNotEmpty()) cause = cause ?: DROPPED }

    private fun dropThen(end: () -> Unit) {
        if (isDropping || (isEnded && messages.isEmpty())) return
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
