package org.kverbs.coroutines.storm

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.LongAdder

/** Records the outcome of each operation, and violations. Any thread can call. */
class StormLedger(
    private val operations: Long,
) {
    private val started = AtomicLong()
    private val outcomes = ConcurrentHashMap<String, LongAdder>()
    private val failures = ConcurrentHashMap<String, LongAdder>()

    /** The first 1000 violations. */
    val violations = ConcurrentLinkedQueue<String>()
    private val violationsSeen = LongAdder()

    /** The number of all violations, also of those that [violations] did not keep. */
    val violationCount: Long get() = violationsSeen.sum()

    /** Number of operations that have begun. */
    val begun: Long get() = started.get()

    /** True if enough operations have begun. */
    val isOver: Boolean get() = started.get() >= operations

    /** Records the begin of an operation. */
    fun begin() {
        started.incrementAndGet()
    }

    /** Records the end of an operation; called once for each. */
    fun end(
        kind: StormKind,
        outcome: StormOutcome,
    ) {
        outcomes.computeIfAbsent("$kind $outcome") { LongAdder() }.increment()
    }

    /** Number of operations that have ended, without receives, which end by themselves. */
    val ended: Long get() = outcomes.filterKeys { !it.startsWith("${StormKind.RECEIVE} ") }.values.sumOf { it.sum() }

    /** Returns the number of operations with this outcome. */
    fun count(outcome: StormOutcome): Long = outcomes.filterKeys { it.endsWith(" $outcome") }.values.sumOf { it.sum() }

    /** Records the failure of an operation. */
    fun failed(reason: String) {
        failures.computeIfAbsent(reason) { LongAdder() }.increment()
    }

    /** Records a violation. */
    fun violation(what: String) {
        violationsSeen.increment()
        if (violations.size < MOST) violations.add(what)
    }

    override fun toString(): String = "$begun operations ${outcomes.toSortedMap()}, failed by ${failures.toSortedMap()}"

    private companion object {
        const val MOST = 1000
    }
}

/** The kinds of operations. */
enum class StormKind { SEND, RECEIVE, WRITE, READ, ADD, BATCH, HOLD }

/** The outcome of an operation. A cancelled operation can have been done, or not. */
enum class StormOutcome { COMPLETED, FAILED, CANCELLED }
