package org.kverbs.serialization.storm

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.LongAdder

/** What became of each talk, and what must not have happened. Any thread. */
internal class ServiceLedger {
    private val outcomes = ConcurrentHashMap<String, LongAdder>()
    private val failures = ConcurrentHashMap<String, LongAdder>()
    private val finished = ConcurrentHashMap<Long, Int>()
    private val ids = AtomicLong()

    /** Steps of all talks: while it grows nothing hangs. */
    val steps = LongAdder()

    /** Handlers of requests that nobody answers but by cancelling them. */
    val sleeping = AtomicInteger()

    /** What must not have happened: the first of it. */
    val violations = ConcurrentLinkedQueue<String>()

    fun nextId(): Long = ids.incrementAndGet()

    /** A client has sent all its [messages] and says so next. */
    fun finishes(
        id: Long,
        messages: Int,
    ) {
        finished[id] = messages
    }

    /** How many messages a client has sent in all; null if it has not come to its end. */
    fun messagesOf(id: Long): Int? = finished[id]

    fun end(
        talk: Talk,
        outcome: Outcome,
    ): Unit = outcomes.computeIfAbsent("$talk $outcome") { LongAdder() }.increment()

    /** How many ended so. */
    fun count(
        outcome: Outcome,
        talk: Talk? = null,
    ): Long =
        outcomes
            .filterKeys {
                it.endsWith(" $outcome") && (talk == null || it.startsWith("$talk "))
            }.values
            .sumOf { it.sum() }

    fun failed(failure: Throwable): Unit =
        failures
            .computeIfAbsent(failure.javaClass.simpleName) {
                LongAdder()
            }.increment()

    fun violation(what: String) {
        if (violations.size < MOST) violations.add(what)
    }

    override fun toString(): String =
        "${outcomes.values.sumOf { it.sum() }} talks ${outcomes.toSortedMap()}, failed by ${failures.toSortedMap()}"

    private companion object {
        const val MOST = 20
    }
}

/** What a client does with a connection. */
internal enum class Talk {
    /** Sends numbered messages, of which each comes back, and finishes. */
    MESSAGES,

    /** The same, and is cancelled on the way. */
    CANCELLED,

    /** The same, and closes the connection on the way. */
    CLOSED,

    /** Makes requests and collects streams of answers; some are cancelled, some are late. */
    REQUESTS,

    /** Sends a stream of bytes. */
    BYTES,

    /** Is not let in. */
    REFUSED,

    /** Asks questions one by one, over one connection after the other. */
    RECONNECTING,
}

internal enum class Outcome { COMPLETED, FAILED, CANCELLED }
