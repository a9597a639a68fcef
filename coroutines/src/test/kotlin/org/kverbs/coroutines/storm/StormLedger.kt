package org.kverbs.coroutines.storm

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.LongAdder

/** What became of each operation, and what must not have happened. Any thread. */
class StormLedger(
    private val operations: Long,
) {
    private val started = AtomicLong()
    private val outcomes = ConcurrentHashMap<String, LongAdder>()
    private val failures = ConcurrentHashMap<String, LongAdder>()

    /** What must not have happened: the first of it. */
    val violations = ConcurrentLinkedQueue<String>()

    /** How many have begun. */
    val begun: Long get() = started.get()

    /** Whether enough have begun. */
    val isOver: Boolean get() = started.get() >= operations

    /** An operation begins. */
    fun begin() {
        started.incrementAndGet()
    }

    /** An operation has ended; called once for each. */
    fun end(
        kind: StormKind,
        outcome: StormOutcome,
    ) {
        outcomes.computeIfAbsent("$kind $outcome") { LongAdder() }.increment()
    }

    /** How many have ended, but for receives, which end by themselves. */
    val ended: Long get() = outcomes.filterKeys { !it.startsWith("${StormKind.RECEIVE} ") }.values.sumOf { it.sum() }

    /** How many ended so. */
    fun count(outcome: StormOutcome): Long = outcomes.filterKeys { it.endsWith(" $outcome") }.values.sumOf { it.sum() }

    /** Why an operation failed. */
    fun failed(reason: String) {
        failures.computeIfAbsent(reason) { LongAdder() }.increment()
    }

    /** This must not have happened. */
    fun violation(what: String) {
        if (violations.size < MOST) violations.add(what)
    }

    override fun toString(): String = "$begun operations ${outcomes.toSortedMap()}, failed by ${failures.toSortedMap()}"

    private companion object {
        const val MOST = 20
    }
}

/** What an operation does. */
enum class StormKind { SEND, RECEIVE, WRITE, READ, ADD, BATCH, HOLD }

/** What became of an operation. Cancelled ones may have been done, or not. */
enum class StormOutcome { COMPLETED, FAILED, CANCELLED }
