package org.kverbs.coroutines

import org.kverbs.WorkCompletionException
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.TypedQueuePair
import org.kverbs.dsl.qp

/**
 * Holds the queue pair of a channel, and divides its send queue into shares for messages, for messages without a
 * credit, and for one-sided operations.
 */
internal class ChannelQueuePair(
    dispatcher: CompletionDispatcher,
    private val memory: ChannelMemory,
    settings: MessageChannelBuilder,
    onFailure: (WorkCompletionException) -> Unit,
    onRoom: () -> Unit,
) {
    private var room: PolledQueue? = null
    private val windowRequests = if (memory.receives == null) 0 else settings.largeMessages
    private val typed = make(dispatcher, settings)
    val failures = Failures(dispatcher, onFailure)
    val queuePair = typed.queuePair
    val polled: PolledQueue = requireNotNull(room)
    val messages = SendSide(queuePair, dispatcher, polled, settings.sendSlots, failures, isShared = true)
    val controls = SendSide(queuePair, dispatcher, polled, CONTROLS, failures, isShared = true, onRoom)
    val oneSided = SendSide(queuePair, dispatcher, polled, settings.oneSidedOperations, failures)

    /**
     * The memory windows that lend memory to the peer in a shared domain; null if the channel has a domain of its own.
     */
    val windows: ChannelWindows? =
        if (memory.receives == null) null else ChannelWindows(dispatcher, queuePair, polled, windowRequests, failures)
    val async: AsyncQueuePair<RcVerbs> =
        AsyncQueuePair(
            typed,
            oneSided,
            ReceiveSide(dispatcher, polled, 0, failures, memory.pd) { _, _ -> error("the channel receives") },
            sharesReceives = false,
        )

    init {
        check(controls.credits.tryAcquire(1)) // kept for CLOSE
    }

    private fun make(
        dispatcher: CompletionDispatcher,
        settings: MessageChannelBuilder,
    ): TypedQueuePair<RcVerbs> {
        val shared = memory.receives
        val sendCount = settings.sendSlots + CONTROLS + settings.oneSidedOperations + windowRequests
        try {
            return memory.pd.qp(RC) {
                maxSendWr(sendCount)
                maxSendSge(2)
                cq { sends, receives -> dispatcher.reserve(sends + receives).also { room = it }.cq }
                if (shared == null) {
                    maxRecvWr(memory.receiveCount)
                } else {
                    srq(shared.queue)
                    recvCq(shared.cq)
                }
            }
        } catch (e: Throwable) {
            room?.giveBack(sendCount + memory.receiveCount)
            throw e
        }
    }

    /** Ends all waits for requests because the connection has ended. */
    fun stop(cause: Throwable) {
        messages.stop(cause)
        controls.stop(cause)
        oneSided.stop(cause)
    }

    /** Ends all waits because the queue pair is gone. */
    fun end(closed: Throwable) {
        // All waits end before any completion is dropped, which can hold the cause for the waits behind it.
        listOfNotNull(messages, controls, oneSided, windows, async.receives).forEach { it.fail(closed) }
        closeAll(
            { messages.end(closed) },
            { controls.end(closed) },
            { oneSided.end(closed) },
            { windows?.end(closed) },
            { async.receives.end(closed) },
        )
    }

    companion object {
        /**
         * Number of messages without a credit that can be in the send queue, including CLOSE; further ones wait until
         * one has completed.
         */
        const val CONTROLS = 8
    }
}
