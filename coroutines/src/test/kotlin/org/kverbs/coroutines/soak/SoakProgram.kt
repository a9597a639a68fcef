package org.kverbs.coroutines.soak

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.kverbs.coroutines.churn.Churn
import org.kverbs.coroutines.storm.Storm
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/**
 * Loads this process in turns, and prints what it holds after each turn, when nothing runs:
 * `SoakProgram SECONDS TURN_SECONDS [leak]`. The last word plants leaks. Ends with status 1 when data was wrong.
 */
object SoakProgram {
    @JvmStatic
    fun main(arguments: Array<String>): Unit =
        runBlocking {
            val leaks = if (arguments.getOrNull(2) == "leak") SoakLeaks() else null
            Soak(arguments[1].toInt().seconds).use { it.run(arguments[0].toInt().seconds, leaks) }
        }
}

/** All loads at once: storms of verbs with faults in process, connections, talks over UDP, refused calls. */
private class Soak(
    private val turn: Duration,
) : AutoCloseable {
    private val talks = SoakTalks()
    private val refusals = SoakRefusals()
    private var operations = 0L
    private var connections = 0L

    suspend fun run(
        time: Duration,
        leaks: SoakLeaks?,
    ) {
        val started = TimeSource.Monotonic.markNow()
        do {
            withContext(Dispatchers.Default) { turn() }
            leaks?.leak()
            println(SoakHoldings.now())
            println(
                "after ${started.elapsedNow().inWholeSeconds} s: $operations operations in storms, $connections " +
                    "connections, ${talks.checked} checks over UDP, ${refusals.seen} failures injected",
            )
        } while (started.elapsedNow() < time)
    }

    private suspend fun turn(): Unit =
        coroutineScope {
            val end = TimeSource.Monotonic.markNow() + turn
            rounds(end) { storm() }
            rounds(end) {
                Churn().use { it.connect(CONNECTIONS) }
                connections += CONNECTIONS
            }
            rounds(end) { talks.round() }
            rounds(end) { refusals.round() }
        }

    private fun CoroutineScope.rounds(
        end: TimeSource.Monotonic.ValueTimeMark,
        round: suspend () -> Unit,
    ) = launch {
        do round() while (end.hasNotPassedNow())
    }

    private suspend fun storm() {
        val seed = System.nanoTime()
        Storm(seed, STORM).use { storm ->
            storm.run()
            val ledger = storm.ledger
            operations += ledger.begun
            check(ledger.violations.isEmpty()) { "storm.seed=$seed: " + ledger.violations.joinToString("\n") }
        }
    }

    override fun close(): Unit = talks.close()

    private companion object {
        const val STORM = 20_000L
        const val CONNECTIONS = 100
    }
}
