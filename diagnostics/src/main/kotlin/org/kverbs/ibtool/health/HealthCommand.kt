package org.kverbs.ibtool.health

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.RdmaException
import org.kverbs.ibtool.counters.ErrorCounters
import org.kverbs.ibtool.counters.Thresholds
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.management.check.DEFAULT_IMBALANCE
import org.kverbs.management.transaction.MadException
import java.io.IOException
import java.nio.file.Path

/** `health`: all that is wrong with a fabric in one report, for people and for monitoring. */
internal class HealthCommand : DiscoveringCommand("health", "DGKLes") {
    private val thresholds by option(
        "--threshold-file",
        metavar = "FILE",
        help = "Lines name=value (${Thresholds.FILE}). A counter without a line must be 0.",
    ).convert { Path.of(it) }
    private val suppressed by option(
        "--suppress",
        metavar = "NAMES",
        help = "Counters to leave out (${ErrorCounters.WAIT},${ErrorCounters.RELAY})",
    ).convert { ErrorCounters.named(it) }
        .default(setOf(ErrorCounters.WAIT, ErrorCounters.RELAY))
    private val skipped by option(
        "--skip",
        metavar = "PARTS",
        help = "Parts to leave out: ${Finding.Check.entries.joinToString(",") { it.key }}",
    ).convert { text -> text.split(',').map(::part).toSet() }
        .default(emptySet())
    private val imbalance by option(
        "--imbalance",
        metavar = "FACTOR",
        help = "How many times as many LIDs a port can carry as another one that is as near (2)",
    ).convert { text -> requireNotNull(text.toDoubleOrNull()?.takeIf { it >= 1 }) { "give 1 or more" } }
        .default(DEFAULT_IMBALANCE)
    private val isMetrics by option("--prometheus", help = "Print metrics in the text format of Prometheus").flag()

    private fun part(key: String): Finding.Check =
        requireNotNull(Finding.Check.entries.firstOrNull { it.key == key }) {
            "there is no part ${printable(key)}; give some of ${Finding.Check.entries.joinToString(",") { it.key }}"
        }

    override fun help(context: Context) =
        """
        Report all that is wrong with the fabric.

        It looks for nodes that do not answer, GUIDs and LIDs that are there twice, the state of the subnet manager,
        links below their speed or width, error counters above their thresholds, and routes that do not arrive, can
        block each other, or are unbalanced.

        The exit status is that of a Nagios plugin: 0 if all is well, 1 for warnings, 2 if something is critical, 3 if
        the fabric could not be asked. A wrong command line has the exit status 2, too.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool health
          ibtool health --skip routes --threshold-file limits
          ibtool health --prometheus > /var/lib/prometheus/node-exporter/fabric.prom
          ibtool health --fabric torus:4,4
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val limits = limits(session)
        val report =
            try {
                val wishes = HealthChecks.Wishes(limits, suppressed, skipped, imbalance)
                val subnet = subnet(session, warns = false, isAsked = !skipped.containsAll(asking))
                val checks =
                    HealthChecks(session.fabric, subnet, session.names, wishes) {
                        session.forwardingTables(subnet, multicast = false)
                    }
                session.working({ "checking ${subnet.nodes.size} nodes" }) { checks.run() }
            } catch (e: DiagnosticException) {
                unknown(e)
            } catch (e: MadException) {
                unknown(e)
            } catch (e: RdmaException) {
                unknown(e)
            } catch (e: IllegalStateException) {
                unknown(e)
            }
        when {
            isMetrics -> print(HealthMetrics(session.names).of(report))
            options.json -> print(HealthJson(session.names).of(report))
            else -> print(HealthText.of(report, options.verbose > 0))
        }
        if (report.severity != Severity.OK) throw ProgramResult(report.severity.status)
    }

    private fun limits(session: Session): Thresholds =
        try {
            Thresholds.read(thresholds, session.warn)
        } catch (e: IOException) {
            val text = "${thresholds ?: Thresholds.FILE}: ${problemOf(e)}"
            unknown(DiagnosticException(text, cause = e), "the thresholds cannot be read")
        }

    private fun unknown(
        e: Exception,
        why: String = "the fabric cannot be asked",
    ): Nothing {
        when {
            isMetrics -> print(HealthMetrics.unknown(UNKNOWN))
            options.json -> print(HealthJson.unknown(PortText.safe("${e.message}")))
            else -> line("UNKNOWN: $why")
        }
        throw DiagnosticException(PortText.safe("${e.message}"), UNKNOWN, e)
    }

    private companion object {
        private const val UNKNOWN = 3

        /** The parts that ask the fabric. The others look at the topology. */
        private val asking = setOf(Finding.Check.MANAGER, Finding.Check.COUNTERS, Finding.Check.ROUTES)
    }
}
