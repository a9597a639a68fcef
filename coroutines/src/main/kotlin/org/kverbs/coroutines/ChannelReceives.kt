package org.kverbs.coroutines

import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * The receive slots of a channel: one request a slot, posted again as soon as its message has been copied out of it.
 */
internal class ChannelReceives(
    dispatcher: CompletionDispatcher,
    private val link: ChannelLink,
) : RequestSide(dispatcher, link.pair.polled, link.memory.receiveCount) {
    private val queuePair = link.pair.queuePair
    private val failures = link.pair.failures
    private val slots = Array(capacity, link.memory::receiveSlot)

    init {
        begin()
    }

    fun postAll(): Unit = repeat(capacity) { post(it) }

    private fun post(slot: Int): Unit = queuePair.postReceive(id(slot), slots[slot])

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        if (!link.takesMessages) return
        // What is thrown here would end the polling of the whole completion queue.
        try {
            if (!completion.isSuccess) {
                val failure = failures.of(completion, WorkCompletionOpcode.RECV.code())
                throw failure.cause as? WorkCompletionException ?: failure // what flushed it says more
            }
            if (completion.opcode() != WorkCompletionOpcode.RECV) {
                throw ChannelProtocolException("the peer made a ${completion.opcode()} where a message was expected")
            }
            arrived(request, completion.byteLength())
        } catch (e: RuntimeException) {
            link.fail(e)
        }
    }

    /** The slot is the device's again before its message has any effect: see [ChannelMessage]. */
    private fun arrived(
        slot: Int,
        received: Long,
    ) {
        val message = slots[slot].memory()
        val length = ChannelMessage.length(message, received)
        val kind = ChannelMessage.kind(message)
        val credits = ChannelMessage.credits(message)
        val body = if (length == 0) NOTHING else message.asSlice(ChannelMessage.HEADER.toLong(), length.toLong()).toArray(JAVA_BYTE)
        post(slot)
        link.arrivals.arrived(kind, credits, body)
    }

    override fun failWaits(cause: Throwable): Unit = link.fail(cause)

    private companion object {
        val NOTHING = ByteArray(0)
    }
}
