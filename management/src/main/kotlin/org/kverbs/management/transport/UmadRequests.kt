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
    ) {
        var again: Repetition? = null
    }

    /** A request that is to be sent again. */
    class Repetition(
        val mad: ByteArray,
        val path: MadPath,
        val patience: Duration,
    )

    /** The kernel has taken a request. */
    fun sent(
        agent: Int,
        mad: ByteArray,
        patience: Duration,
    ) {
        // The kernel tells nothing of a request that it could not send after all.
        if (waiting.size > MANY) waiting.values.removeIf { it.end.hasPassedNow() }
        waiting[key(agent, mad)] = Entry(TimeSource.Monotonic.markNow() + patience + slack)
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

    /** The kernel waits no more: there is an answer, or none came. Returns the repetition that was kept. */
    fun ended(
        agent: Int,
        mad: ByteArray,
    ): Repetition? = waiting.remove(key(agent, mad))?.again

    /** The kernel has written the other half of the transaction's id. */
    private fun key(
        agent: Int,
        mad: ByteArray,
    ) = Key(agent, ByteBuffer.wrap(mad).getInt(TRANSACTION_AT))
}
