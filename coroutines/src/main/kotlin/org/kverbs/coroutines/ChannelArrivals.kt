package org.kverbs.coroutines

import org.kverbs.RemoteMemory
import java.lang.foreign.MemorySegment

/** What a channel does with what comes. The polling thread brings it; what is wrong with it is thrown, and ends the channel. */
internal class ChannelArrivals(
    private val link: ChannelLink,
) {
    private val debts = link.debts
    private val inbox = link.inbox

    /** A message came into a receive slot. */
    fun arrived(
        slot: Int,
        message: MemorySegment,
        received: Long,
    ) {
        if (!link.isAlive) return
        val length = ChannelMessage.length(message, received)
        val credits = ChannelMessage.credits(message) // read before the slot is the device's again
        when (val kind = ChannelMessage.kind(message)) {
            ChannelMessage.DATA -> {
                debts.arrived()
                inbox.add(ChannelArrival.Small(slot, length))
            }

            ChannelMessage.LARGE -> {
                debts.arrived()
                val arrival = announced(message, length)
                link.receives.post(slot)
                inbox.add(arrival)
            }

            ChannelMessage.PUBLISH, ChannelMessage.WITHDRAW -> {
                debts.arrived()
                link.remotes.arrived(kind, message.asSlice(ChannelMessage.HEADER.toLong(), length.toLong()))
                free(slot)
            }

            ChannelMessage.DONE -> {
                requireLength(length, Int.SIZE_BYTES)
                val id = ChannelMessage.int(message, 0)
                link.receives.post(slot)
                link.large.done(id)
            }

            ChannelMessage.CREDIT, ChannelMessage.END, ChannelMessage.CLOSE -> {
                requireLength(length, 0)
                link.receives.post(slot)
                end(kind)
            }

            else -> {
                throw ChannelProtocolException("the peer sent a message of the unknown kind $kind")
            }
        }
        if (credits > 0) link.returned(credits)
    }

    private fun announced(
        message: MemorySegment,
        length: Int,
    ): ChannelArrival.Large {
        requireLength(length, ChannelMessage.LARGE_BODY)
        val id = ChannelMessage.int(message, 0)
        val rkey = ChannelMessage.int(message, 4)
        val address = ChannelMessage.long(message, 8)
        val bytes = ChannelMessage.long(message, 16)
        val most = link.settings.maxMessage
        if (bytes !in 0..most) {
            val told = java.lang.Long.toUnsignedString(bytes)
            throw ChannelProtocolException("the peer has a message of $told bytes, above maxMessage($most) of this side")
        }
        return ChannelArrival.Large(id, RemoteMemory(address, bytes, rkey))
    }

    private fun requireLength(
        length: Int,
        expected: Int,
    ) {
        if (length != expected) throw ChannelProtocolException("the peer sent a body of $length bytes where $expected were expected")
    }

    private fun end(kind: Int) {
        if (kind == ChannelMessage.CREDIT) return
        inbox.end(null)
        if (kind == ChannelMessage.END) {
            link.remotes.end(ChannelClosedException("the peer has sent its last message"))
        } else {
            link.fail(ChannelClosedException("the peer closed the message channel"))
        }
    }

    /** Takes the first message out of its slot with [take], and lets the device have the slot again. */
    fun <T> takeSmall(
        arrival: ChannelArrival.Small,
        take: (MemorySegment) -> T,
    ): T {
        val taken = take(link.receives.at(arrival.slot).asSlice(ChannelMessage.HEADER.toLong(), arrival.length))
        inbox.removeFirst()
        if (link.isAlive) {
            try {
                free(arrival.slot)
            } catch (e: RuntimeException) {
                link.fail(e) // the message is taken nevertheless
            }
        }
        return taken
    }

    private fun free(slot: Int) {
        link.receives.post(slot)
        debts.oweCredit()
        link.outbox.sayWhatIsDue()
    }

    /** The first message, a large one, has been read. */
    fun largeTaken(arrival: ChannelArrival.Large) {
        inbox.removeFirst()
        debts.oweDone(arrival.id)
        debts.oweCredit()
        link.outbox.sayWhatIsDue()
    }
}
