package org.kverbs.serialization.storm

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.LongAdder

/** Records the outcome of each talk, and violations. Any thread can call. */
internal class ServiceLedger {
    private val outcomes = ConcurrentHashMap<String, LongAdder>()
    private val failures = ConcurrentHashMap<String, LongAdder>()
    private val finished = ConcurrentHashMap<Long, Int>()
    private val ids = AtomicLong()

    /** The steps of all talks; nothing hangs while this grows. */
    val steps = LongAdder()

    /** The handlers of requests that end only by cancellation. */
    val sleeping = AtomicInteger()

    /** The first violations. */
    val violations = ConcurrentLinkedQueue<String>()

    fun nextId(): Long = ids.incrementAndGet()

    /** Records that a client has sent all its [messages] and finishes next. */
    fun finishes(
        id: Long,
        messages: Int,
    ) {
        finished[id] = messages
    }

    /** Returns the number of messages that a client has sent in all; null if it has not finished. */
    fun messagesOf(id: Long): Int? = finished[id]

    fun end(
        talk: Talk,
        outcome: Outcome,
    ): Unit = outcomes.computeIfAbsent("$talk $outcome") { LongAdder() }.increment()

    /** Returns the number of talks with this outcome. */
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

/** The kinds of talks of a client over a connection. */
internal enum class Talk {
    /** Sends numbered messages, gets each one back, and finishes. */
    MESSAGES,

    /** The same, and is cancelled on the way. */
    CANCELLED,

    /** The same, and closes the connection on the way. */
    CLOSED,

    /** Makes requests and collects streams of answers; some are cancelled, some are late. */
    REQUESTS,

    /** Sends a stream of bytes. */
    BYTES,

    /** Is rejected by the server. */
    REFUSED,

    /** Makes requests one by one, over one connection after the other. */
    RECONNECTING,
}

internal enum class Outcome { COMPLETED, FAILED, CANCELLED }
