package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.TypedQueuePair
import org.kverbs.dsl.qp

/** The queue pair of a channel. Its send queue is shared out: messages, those without a credit, and one-sided operations. */
internal class ChannelQueuePair(
    dispatcher: CompletionDispatcher,
    pd: ProtectionDomain,
    settings: MessageChannelBuilder,
    private val receiveCount: Int,
    onRoom: () -> Unit,
) {
    private var room: PolledQueue? = null
    private val typed = make(dispatcher, pd, settings)
    val failures = Failures()
    val queuePair = typed.queuePair
    val polled: PolledQueue = requireNotNull(room)
    val messages = SendSide(queuePair, dispatcher, polled, settings.sendSlots, failures)
    val controls = SendSide(queuePair, dispatcher, polled, CONTROLS, failures, onRoom)
    val oneSided = SendSide(queuePair, dispatcher, polled, settings.oneSided, failures)
    val async: AsyncQueuePair<RcVerbs> =
        AsyncQueuePair(typed, oneSided, ReceiveSide(dispatcher, polled, 0, failures, pd) { _, _ -> error("the channel receives") })

    init {
        check(controls.credits.tryAcquire(1)) // kept for the close
    }

    private fun make(
        dispatcher: CompletionDispatcher,
        pd: ProtectionDomain,
        settings: MessageChannelBuilder,
    ): TypedQueuePair<RcVerbs> {
        val sendCount = settings.sendSlots + CONTROLS + settings.oneSided
        try {
            return pd.qp(RC) {
                maxSendWr(sendCount)
                maxSendSge(2)
                maxRecvWr(receiveCount)
                cq { sends, receives -> dispatcher.reserve(sends + receives).also { room = it }.cq }
            }
        } catch (e: RuntimeException) {
            room?.giveBack(sendCount + receiveCount)
            throw e
        }
    }

    /** The queue pair is gone. */
    fun end(closed: Throwable) {
        messages.end(closed)
        controls.end(closed)
        oneSided.end(closed)
        async.receives.end(closed)
    }

    companion object {
        /** Messages without credit that can be in the send queue, the close among them; what is due beyond waits until one has completed. */
        const val CONTROLS = 8
    }
}
