package org.kverbs.embedded

import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import java.util.concurrent.Callable
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit

/** How long a storm of copies lasts: 4 seconds, or those of the system property storm.seconds. */
internal val STORM_NANOS = TimeUnit.SECONDS.toNanos(System.getProperty("storm.seconds", "4").toLong())

/** What a storm begins with: a new number, or that of the system property storm.seed. */
internal val STORM_SEED = System.getProperty("storm.seed")?.toLong() ?: System.nanoTime()

/** Has each of the workers, on a thread of its own, play rounds for so long; copies without the lock must be made. */
internal fun <W : AutoCloseable> EmbeddedFabric.storm(
    what: String,
    nanos: Long,
    workers: List<W>,
    cuts: (W) -> Map<*, Int>,
    round: (W) -> Unit,
) {
    val pool = Executors.newFixedThreadPool(workers.size)
    val end = System.nanoTime() + nanos
    val rounds =
        workers.map { worker ->
            pool.submit(Callable { generateSequence { round(worker) }.takeWhile { System.nanoTime() < end }.count() })
        }
    rounds.forEach { it.get(2, TimeUnit.HOURS) shouldBeGreaterThan 0 }
    val copies = engine().copies()
    println("storm of $what: storm.seed=$STORM_SEED, ${workers.map(cuts)}, ${copies.made()} copies")
    if (copies.arePossible()) copies.made() shouldBeGreaterThan 0
    workers.forEach { it.close() }
    pool.shutdown()
}
