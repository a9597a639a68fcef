package org.kverbs.ibtool.services

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.ranged
import org.kverbs.ibtool.session.target
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.ServedClass
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.time.Duration.Companion.seconds

/** `ibping`: asks whether the other side's `ibping -S` is there, and how long it takes to answer. */
internal class IbPingCommand : DiagnosticCommand("ibping", "DKyo") {
    private val count by option("--count", "-c", metavar = "N", help = "How many pings; without it until Ctrl-C")
        .convert {
            ranged(it, 0L..Int.MAX_VALUE)
        }
    private val isFlood by option("--flood", "-f", help = "Ping without a pause, and print the summary alone").flag()
    private val oui by option("--oui", "-o", metavar = "OUI", help = "The vendor of the class; OpenIB without it")
        .convert { vendor(it) }
        .default(OPENIB)
    private val isServer by option("--Server", "-S", help = "Answer pings, until Ctrl-C").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name of the server").optional()

    override fun help(context: Context) = "Ping a port on which ibping -S runs."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibping -S
          ibtool ibping 4
          ibtool ibping -f -c 1000 -G 0x2c90200000031
        """.trimIndent()

    override fun FabricBuilder.configure() = vendor(oui)

    override suspend fun execute(session: Session) {
        if (isServer) return serve(session)
        val target = session.byLid(session.target(address ?: throw UsageError("give the address of a server, or -S")))
        val statistics = PingStatistics("$target")
        val start = now()
        val isReported = AtomicBoolean()

        fun report() {
            if (!isReported.compareAndSet(false, true)) return
            if (options.json) print(statistics.json(now() - start)) else line(statistics.text(now() - start))
            flush()
        }
        val atEnd = Thread(::report)
        Runtime.getRuntime().addShutdownHook(atEnd)
        try {
            pings(session, target, statistics)
            report()
        } finally {
            try {
                Runtime.getRuntime().removeShutdownHook(atEnd)
            } catch (_: IllegalStateException) {
                // Ctrl-C came, and the hook runs.
            }
        }
    }

    private suspend fun pings(
        session: Session,
        target: Target,
        statistics: PingStatistics,
    ) {
        val last = count ?: Long.MAX_VALUE
        for (number in 1..last) {
            ping(session, target, statistics)
            if (!isFlood && number < last) delay(1.seconds)
        }
    }

    private suspend fun ping(
        session: Session,
        target: Target,
        statistics: PingStatistics,
    ) {
        statistics.sent()
        val start = now()
        try {
            val host = printable(session.fabric.get<OpenIBPing>(target.path).hostName)
            val time = now() - start
            statistics.received(host, time)
            if (isFlood || options.json) return
            line("Pong from $host ($target): time ${PingStatistics.milliseconds(time)} ms")
            flush()
        } catch (e: MadException) {
            if (options.verbose > 0) session.warn("ibping: ${e.message}")
        }
    }

    private suspend fun serve(session: Session) {
        val service = ServedClass(ManagementClass.OPENIB_PING, vendor = oui)
        session.fabric.serve(service, HostServer::ping).use { awaitCancellation() }
    }

    /** Microseconds. */
    private fun now(): Long = System.nanoTime() / NANOSECONDS

    private companion object {
        private const val NANOSECONDS = 1000
    }
}
