package org.kverbs.coroutines

import org.kverbs.RemoteMemory
import java.nio.ByteBuffer

/**
 * Handles the messages that arrive at a channel. The polling thread calls it. An invalid message throws an exception
 * that ends the channel.
 */
internal class ChannelArrivals(
    private val link: ChannelLink,
) {
    private val debts = link.debts
    private val inbox = link.inbox

    /** Handles a message whose slot has been posted again. [body] is a copy. */
    fun arrived(
        kind: Int,
        credits: Int,
        body: ByteArray,
    ) {
        // Before the message is there: a sender that this resumes can take the next one. But the first of a peer, the only
        // one that resumes senders here, brings credits alone.
        link.heard()
        when (kind) {
            ChannelMessage.DATA -> {
                debts.arrived()
                inbox.add(ChannelArrival(body))
            }

            ChannelMessage.LARGE -> {
                debts.arrived()
                announced(body)
            }

            ChannelMessage.PUBLISH, ChannelMessage.WITHDRAW -> {
                debts.arrived()
                link.remotes.arrived(kind, body)
                link.oweCredit()
            }

            ChannelMessage.LOOKUP -> {
                requireLength(body, 0)
                debts.arrived()
                debts.oweAnswer()
                link.oweCredit()
            }

            ChannelMessage.DONE -> {
                requireLength(body, Int.SIZE_BYTES)
                link.large.done(ByteBuffer.wrap(body).getInt())
            }

            ChannelMessage.CREDIT,
            ChannelMessage.END,
            ChannelMessage.CLOSE,
            ChannelMessage.LEAVE,
            ChannelMessage.ANSWER,
            -> {
                requireLength(body, 0)
                bare(kind)
            }

            else -> {
                throw ChannelProtocolException("the peer sent a message of the unknown kind $kind")
            }
        }
        if (credits > 0) link.returned(credits)
    }

    private fun announced(body: ByteArray) {
        requireLength(body, ChannelMessage.LARGE_BODY)
        val buffer = ByteBuffer.wrap(body)
        val id = buffer.getInt()
        val rkey = buffer.getInt()
        val address = buffer.getLong()
        val bytes = buffer.getLong()
        val most = link.settings.maxMessageSize
        if (bytes !in 0..most) {
            val told = java.lang.Long.toUnsignedString(bytes)
            throw ChannelProtocolException(
                "the peer has a message of $told bytes, above maxMessageSize($most) of this side",
            )
        }
        link.fetches.announced(id, RemoteMemory(address, bytes, rkey))
    }

    private fun requireLength(
        body: ByteArray,
        expected: Int,
    ) {
        if (body.size == expected) return
        throw ChannelProtocolException("the peer sent a body of ${body.size} bytes where $expected were expected")
    }

    private fun closed(): ChannelClosedException {
        val how =
            if (inbox.peerHasFinished) {
                "the peer has closed the message channel, after its last message"
            } else {
                "the peer closed the message channel without finish() or disconnect(); see at the peer why"
            }
        return ChannelClosedException(how + peerSuffix(link.pair.failures.peer))
    }

    private fun bare(kind: Int) {
        when (kind) {
            ChannelMessage.ANSWER -> {
                link.lookups.answered()
            }

            ChannelMessage.END -> {
                inbox.finish()
                link.remotes.end(ChannelClosedException("the peer has sent its last message"))
            }

            ChannelMessage.CLOSE -> {
                link.fail(closed())
            }

            ChannelMessage.LEAVE -> {
                if (!link.outbox.finished) {
                    throw ChannelProtocolException("the peer says that it has the END of this side, which sent none")
                }
                link.left(closed())
            }
        }
    }
}
