package org.kverbs.ibtool.counters

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.coroutines.delay
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.target
import org.kverbs.ibtool.session.times
import org.kverbs.management.transaction.MadException
import kotlin.time.Duration.Companion.seconds

/** `ibswportwatch`: how fast the counters of a port grow. */
internal class IbSwPortWatchCommand : DiagnosticCommand("ibswportwatch", "DK") {
    private val pause by option("--watch", "-p", metavar = "SECONDS", help = "Seconds between two looks; 10 without it")
        .convert { number(it).also { seconds -> require(seconds in 1..MOST) { "give 1 to $MOST seconds" } } }
        .default(10)
    private val cycles by option("--cycles", "-n", metavar = "N", help = "How many looks; without it until Ctrl-C")
        .convert { times(it) }
    private val showsTraffic by option("--bytes", "-b", help = "Show data and packets per second, too").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val port by argument("portnum", help = "The port of the node").convert { portNumber(it) }

    override fun help(context: Context) = "Watch how fast the counters of a port grow. -v shows all counters."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibswportwatch 3 1
          ibtool ibswportwatch -p 1 -n 5 -b 3 1
          ibtool ibswportwatch -v -G 0x2c90200000031 1
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val query = PortCountersQuery(session, session.byLid(session.target(address)))
        try {
            query.begin()
            var before = CounterSample.of(query, port)
            for (look in 1..(cycles ?: Long.MAX_VALUE)) {
                if (!options.json) line("Checking counts...")
                flush()
                delay(pause.seconds)
                val now = CounterSample.of(query, port)
                show(CounterRates(before, now, pause))
                before = now
            }
        } catch (e: MadException) {
            throw DiagnosticException("${query.target} port $port: ${e.message}", cause = e)
        }
    }

    private fun show(rates: CounterRates) {
        if (options.json) {
            print(
                buildJsonObject {
                    rates.all.forEach { (name, rate) -> put(name, rate) }
                },
            )
        } else {
            rates.errors().forEach { line(it) }
            if (showsTraffic) rates.traffic().forEach { line(it) }
            if (options.verbose > 0) rates.table().forEach { line(it) }
        }
        flush()
    }

    private companion object {
        private const val MOST = 86_400L
    }
}
