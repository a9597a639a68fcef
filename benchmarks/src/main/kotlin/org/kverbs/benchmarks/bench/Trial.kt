package org.kverbs.benchmarks.bench

import java.util.concurrent.Callable
import java.util.concurrent.Executors
import java.util.concurrent.Future
import java.util.concurrent.TimeUnit.MILLISECONDS

/**
 * Measures one contender in this process, which measures no other, so that the JVM compiles for it alone. [Bench]
 * starts it. Prints a line for each case: its name, and the median of its parts, in the case's unit.
 *
 * @param args the contender's name, and the milliseconds of a case
 */
fun main(args: Array<String>) {
    val (name, millis) = args
    val contender = CONTENDERS.filterIsInstance<JvmContender>().single { it.name == name }
    val trial = Trial(contender.open(), millis.toLong())
    trial.warmUp()
    Case.entries.forEach { println("$it ${trial.measure(it)}") }
    // Without a close: an end of UCX waits there for the progress of the other. Threads of a library can keep a JVM.
    Runtime.getRuntime().halt(0)
}

/** Plays the cases on two threads. */
internal class Trial(
    private val exchange: Exchange,
    private val millis: Long,
) : AutoCloseable {
    private val threads = Executors.newFixedThreadPool(2)

    /**
     * Plays all cases by turns. The JVM needs some seconds to compile what a message runs, during which its compilers
     * take the processors of the two ends. Without this the first case is measured meanwhile.
     */
    fun warmUp() = repeat(WARM_UP_TURNS) { Case.entries.forEach { rehearse(it, WARM_UP_NANOS) } }

    /** Returns the median of [PARTS] parts of the time, after as long a time in which the JVM compiles. */
    fun measure(case: Case): Double {
        val part = MILLISECONDS.toNanos(millis) / PARTS
        var count = rehearse(case, MILLISECONDS.toNanos(millis))
        return median(List(PARTS) { figure(case, count, play(case, count).also { count = scaled(count, part, it) }) })
    }

    /** Plays a case for some time. Returns how many messages take about one of [PARTS] parts of it. */
    private fun rehearse(
        case: Case,
        nanos: Long,
    ): Int {
        var count = 1
        val begin = System.nanoTime()
        while (true) {
            val took = play(case, count)
            if (System.nanoTime() - begin > nanos) return count
            count = scaled(count, nanos / PARTS, took)
        }
    }

    /** The number of messages for [wanted] nanoseconds, after [count] took so long: not more than ten times as many. */
    private fun scaled(
        count: Int,
        wanted: Long,
        took: Long,
    ) = (count * (wanted.toDouble() / took).coerceAtMost(MOST_GROWTH)).toInt().coerceIn(1, MOST)

    private fun figure(
        case: Case,
        count: Int,
        nanos: Long,
    ) = if (case.isRoundTrip) nanos / 1e3 / count else case.bytes.toDouble() * count / nanos * 1e3

    /** Plays a part of a case, and returns its nanoseconds. */
    private fun play(
        case: Case,
        count: Int,
    ): Long {
        val begin = System.nanoTime()
        val bytes = case.bytes
        val far =
            threads.submit(
                Callable {
                    if (case.isRoundTrip) exchange.answer(bytes, count) else exchange.receive(bytes, count)
                    System.nanoTime()
                },
            )
        val near =
            threads.submit(
                Callable {
                    if (case.isRoundTrip) exchange.ask(bytes, count) else exchange.send(bytes, count)
                    System.nanoTime()
                },
            )
        return await(near, far) - begin
    }

    /**
     * Waits for both ends, and returns when the later one ended: this thread wakes up after it. If one fails
     * the other may wait for ever, so that the process ends.
     */
    private fun await(vararg ends: Future<Long>): Long {
        while (ends.any { !it.isDone }) {
            ends.firstOrNull { it.state() == Future.State.FAILED }?.let { throw it.exceptionNow() }
            Thread.sleep(1)
        }
        return ends.maxOf { it.get() }
    }

    override fun close() {
        threads.shutdownNow()
    }

    internal companion object {
        private const val PARTS = 5
        private const val MOST_GROWTH = 10.0
        private const val WARM_UP_TURNS = 4
        private const val WARM_UP_NANOS = 250_000_000L
        private const val MOST = 100_000_000

        /** The value in the middle of the sorted ones; the lower of two. */
        fun median(values: List<Double>): Double = values.sorted()[(values.size - 1) / 2]
    }
}
