package org.kverbs.ibtool.session

import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.GroupableOption
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.coroutines.delay
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

/** The options `--watch` and `--cycles` of [command], which repeat what it does. */
internal class Watch(
    command: CoreCliktCommand,
) {
    private val pauseOption =
        command
            .option(
                "--watch",
                metavar = "SECONDS",
                help = "Do it again and again, and show the rates of the counters that moved",
            ).convert { pause(it) }
            .also { command.registerOption(it as GroupableOption) }
    private val cyclesOption =
        command
            .option("--cycles", metavar = "N", help = "With --watch: how often; without it until Ctrl-C")
            .convert { times(it) }
            .also { command.registerOption(it as GroupableOption) }

    private fun pause(text: String): Duration {
        val seconds = requireNotNull(text.toDoubleOrNull()?.takeIf { it in SHORTEST..LONGEST }) { "give 0.01 to 86400" }
        return (seconds * MILLIS).toLong().milliseconds
    }

    /**
     * Does [look] once, or again and again. Behind Ctrl-C no new one begins.
     *
     * @param show gets the rates behind each look but the first
     */
    suspend fun run(
        session: Session,
        show: (CounterGrowth) -> Unit,
        look: suspend () -> Unit,
    ) {
        val pause = pauseOption.value
        if (pause == null) {
            if (cyclesOption.value !=
                null
            ) {
                throw UsageError("--cycles needs --watch SECONDS, the time between two looks")
            }
            return look()
        }
        val growth = CounterGrowth().also { session.growth = it }
        val last = cyclesOption.value ?: Long.MAX_VALUE
        for (number in 1..last) {
            growth.next()
            val result = statusOf(look)
            if (number > 1) show(growth)
            if (session.surroundings.interrupt?.hasEnded == true) return
            if (number == last && result != null) throw result
            if (number < last) delay(pause)
        }
    }

    /** What a look found wrong does not end the watch. */
    private suspend fun statusOf(look: suspend () -> Unit): ProgramResult? =
        try {
            look()
            null
        } catch (e: ProgramResult) {
            e
        }

    private companion object {
        private const val SHORTEST = 0.01
        private const val LONGEST = 86_400.0
        private const val MILLIS = 1000
    }
}
