package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** Takes the messages out of a channel's receive slots, its own or shared ones. The polling thread calls it. */
internal class ChannelReception(
    private val link: ChannelLink,
) {
    /**
     * Takes the message of a completed receive. Calls [free] once: after the message has been copied out of its slot
     * and before it has any effect, see [ChannelMessage]; or when there is no message.
     */
    inline fun take(
        completion: WorkCompletion,
        slot: MemorySlice,
        free: () -> Unit,
    ) {
        var isFree = false
        // What is thrown here would end all channels that share the receives; an error is one of this channel, too.
        try {
            if (link.takesMessages) {
                requireMessage(completion)
                val message = slot.memory()
                val length = ChannelMessage.length(message, completion.byteLength())
                val kind = ChannelMessage.kind(message)
                val credits = ChannelMessage.credits(message)
                val body = if (length == 0) NOTHING else message.asSlice(HEADER, length.toLong()).toArray(JAVA_BYTE)
                isFree = true
                free()
                link.arrivals.arrived(kind, credits, body)
            }
        } catch (e: Throwable) {
            link.fail(e)
        }
        try {
            if (!isFree) free()
        } catch (e: Throwable) {
            link.fail(e) // the device refused the receive that was to be posted again
        }
    }

    fun requireMessage(completion: WorkCompletion) {
        if (!completion.isSuccess) {
            val failure = link.pair.failures.of(completion, WorkCompletionOpcode.RECV.code())
            throw failure.cause as? WorkCompletionException ?: failure // the cause of the flush says more
        }
        if (completion.opcode() != WorkCompletionOpcode.RECV) {
            throw ChannelProtocolException("the peer made a ${completion.opcode()} where a message was expected")
        }
    }

    fun fail(cause: Throwable): Unit = link.fail(cause)

    companion object {
        val NOTHING = ByteArray(0)
        const val HEADER = ChannelMessage.HEADER.toLong()
    }
}
