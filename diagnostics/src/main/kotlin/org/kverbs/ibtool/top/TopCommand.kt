package org.kverbs.ibtool.top

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.coroutines.delay
import org.kverbs.ibtool.counters.ErrorCounters
import org.kverbs.ibtool.counters.PortReadings
import org.kverbs.ibtool.counters.readCounters
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.ranged
import org.kverbs.ibtool.session.times
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** `top`: the busiest ports of the fabric, or those with most errors, again and again. */
internal class TopCommand : DiscoveringCommand("top", "DGKLes") {
    private val interval by option("--interval", metavar = "SECONDS", help = "Between two readings (2)")
        .convert { text -> seconds(text) }
        .default(2.seconds)
    private val count by option("--count", "-n", metavar = "N", help = "How many tables to print; all without it")
        .convert { times(it) }
    private val rows by option("--rows", metavar = "N", help = "How many ports a table has (20)")
        .convert { text -> ranged(text, 1..MOST).toInt() }
        .default(ROWS)
    private val order by option(
        "--sort",
        metavar = "BY",
        help = "rate, errors (since the last reading) or all-errors",
    ).convert { key ->
        requireNotNull(TopTable.Order.entries.firstOrNull { it.key == key }) { "give rate, errors or all-errors" }
    }.default(TopTable.Order.RATE)
    private val suppressed by option(
        "--suppress",
        metavar = "NAMES",
        help = "Counters that are no errors (${ErrorCounters.WAIT},${ErrorCounters.RELAY})",
    ).convert { ErrorCounters.named(it) }
        .default(setOf(ErrorCounters.WAIT, ErrorCounters.RELAY))

    private fun seconds(text: String): Duration {
        val value = requireNotNull(text.toDoubleOrNull()?.takeIf { it in SHORTEST..LONGEST }) { "give 0.01 to 86400" }
        return value.seconds
    }

    override fun help(context: Context) =
        """
        Show the ports of the fabric by their rates and errors, live.

        On a terminal each table takes the place of the last one. Elsewhere they are printed one after the other, with
        --json as one JSON value a table. Ctrl-C ends it.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool top
          ibtool top --sort errors --interval 10
          ibtool top -n 1 --json --fabric hosts:16
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val ports = subnet(session, isAsked = true).links.flatMap { it.ends }
        val table = TopTable(session.names, order, rows)
        val isScreen = System.console()?.isTerminal == true && !options.json
        var before = session.fabric.readCounters(ports)
        val told = HashSet<String>()
        var left = count ?: Long.MAX_VALUE
        while (left-- > 0) {
            delay(interval)
            val after = session.fabric.readCounters(ports)
            val rates = rates(before, after)
            when {
                options.json -> {
                    print(table.json(rates))
                }

                isScreen -> {
                    print(CLEAR + table.text(rates) + silent(session, before, after).joinToString("") { "$it\n" })
                }

                else -> {
                    print(table.text(rates) + "\n")
                }
            }
            if (!isScreen) silent(session, before, after).filter(told::add).forEach { warn(it) }
            flush()
            before = after
        }
    }

    /** A sentence for each node whose ports are missing in a table. */
    private fun silent(
        session: Session,
        before: PortReadings,
        after: PortReadings,
    ): List<String> {
        val texts = PortText(session.names)
        return (before.failures + after.failures).map { (node, why) ->
            "${texts.of(node)} tells no counters: ${PortText.safe(why)}"
        }
    }

    private fun rates(
        before: PortReadings,
        after: PortReadings,
    ): List<PortRate> =
        after.all.mapNotNull { now -> before.of(now.port)?.let { PortRate.between(it, now, suppressed) } }

    private companion object {
        private const val ROWS = 20
        private const val MOST = 100_000L
        private const val SHORTEST = 0.01
        private const val LONGEST = 86_400.0

        /** Moves the cursor to the left upper corner, and clears what is behind it. */
        private const val CLEAR = "\u001b[H\u001b[J"
    }
}
