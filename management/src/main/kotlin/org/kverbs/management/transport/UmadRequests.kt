package org.kverbs.management.transport

import org.kverbs.management.path.MadPath
import java.nio.ByteBuffer
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private const val TRANSACTION_AT = 12
private const val MANY = 4096
private val slack = 10.seconds

/**
 * The requests whose answers the kernel waits for. It refuses another one of the same transaction meanwhile: a
 * repetition is kept here until the kernel has given the first one up. Used under its own lock.
 */
internal class UmadRequests {
    private val waiting = HashMap<Key, Entry>()

    private data class Key(
        val agent: Int,
        val transaction: Int,
    )

    private class Entry(
        val end: TimeSource.Monotonic.ValueTimeMark,
        val soon: TimeSource.Monotonic.ValueTimeMark,
        /** How many earlier sends of the request the kernel has given up without the port's thread having read it. */
        var unread: Int,
        var again: Repetition?,
    )

    /** A request that is to be sent again. */
    class Repetition(
        val mad: ByteArray,
        val path: MadPath,
        val patience: Duration,
    )

    /**
     * The end of a request without an answer.
     *
     * @property again the repetition that was kept
     * @property isEarly whether the kernel gave up long before the request's time was over. The kernel itself does not;
     *   ibsim's library does so where no port gets the datagram.
     */
    class GivenUp(
        val again: Repetition?,
        val isEarly: Boolean,
    )

    /**
     * The kernel has taken a request. If it has taken the same one before, then it has given that up meanwhile, and
     * [gaveUp] will be told of it later.
     */
    fun sent(
        agent: Int,
        mad: ByteArray,
        patience: Duration,
    ) {
        // The kernel tells nothing of a request that it could not send after all.
        if (waiting.size > MANY) waiting.values.removeIf { it.end.hasPassedNow() }
        val key = key(agent, mad)
        val before = waiting[key]
        val now = TimeSource.Monotonic.markNow()
        waiting[key] =
            Entry(
                now + patience + slack,
                now + patience / 2,
                unread = before?.let { it.unread + 1 } ?: 0,
                again = before?.again,
            )
    }

    /** Keeps a repetition that the kernel has refused. Returns false if that was for another reason. */
    fun keep(
        agent: Int,
        repetition: Repetition,
    ): Boolean {
        val entry = waiting[key(agent, repetition.mad)] ?: return false
        entry.again = repetition
        return true
    }

    /** An answer has come: the kernel waits no more, and nothing needs to be asked again. */
    fun answered(
        agent: Int,
        mad: ByteArray,
    ) {
        waiting.remove(key(agent, mad))
    }

    /**
     * The kernel has given a request up. Returns null if the kernel has taken the request once more since then, or does
     * not know of it.
     */
    fun gaveUp(
        agent: Int,
        mad: ByteArray,
    ): GivenUp? {
        val key = key(agent, mad)
        val entry = waiting[key] ?: return null
        if (entry.unread > 0) {
            entry.unread--
            return null
        }
        waiting.remove(key)
        return GivenUp(entry.again, !entry.soon.hasPassedNow())
    }

    /** The kernel has written the other half of the transaction's id. */
    private fun key(
        agent: Int,
        mad: ByteArray,
    ) = Key(agent, ByteBuffer.wrap(mad).getInt(TRANSACTION_AT))
}
