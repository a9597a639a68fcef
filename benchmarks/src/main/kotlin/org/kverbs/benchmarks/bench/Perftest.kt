package org.kverbs.benchmarks.bench

import java.io.File
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS

/**
 * perftest's C programs on an RDMA device: two processes, a server and a client. `ib_send_lat` halves the time there
 * and back, which is doubled here.
 */
internal class Perftest(
    private val missing: () -> String?,
    private val device: () -> String,
) : Contender {
    override val name = "perftest"
    override val title = "perftest, C, on the RDMA device"

    override fun obstacle() =
        missing() ?: if (System.getenv("PATH").split(':').any { File(it, "ib_send_lat").canExecute() }) {
            null
        } else {
            "no perftest: as root, apt-get install perftest"
        }

    override fun measure(time: Duration): Map<Case, Double> = Case.entries.associateWith { measure(it, time) }

    private fun measure(
        case: Case,
        time: Duration,
    ): Double {
        // These programs take whole seconds.
        val seconds = maxOf(time.toSeconds(), 1)
        val program = if (case.isRoundTrip) "ib_send_lat" else "ib_send_bw"
        val options = listOf("-F", "-d", device(), "-s", "${case.bytes}", "-D", "$seconds", "-p", "$PORT")
        val server = ChildProcess(listOf(program) + options).start()
        // What it prints must not fill its pipe.
        val drained = CompletableFuture.runAsync { server.inputReader().forEachLine { } }
        try {
            Thread.sleep(LISTENING_MILLIS)
            val limit = Duration.ofSeconds(seconds * 2 + LIMIT_SECONDS)
            val said = ChildProcess(listOf(program) + options + "127.0.0.1").output(limit)
            server.waitFor(LIMIT_SECONDS, SECONDS)
            return figure(case, said)
        } finally {
            server.destroyForcibly().waitFor()
            drained.join()
        }
    }

    /** Reads the row behind the titles, by the title of its column. */
    private fun figure(
        case: Case,
        said: String,
    ): Double {
        val lines = said.lines()
        val at = lines.indexOfFirst { it.trim().startsWith("#bytes") }
        val value =
            if (at < 0) {
                null
            } else {
                val columns = lines[at].trim().split(Regex("\\s{2,}|\t+|\\s(?=t_|BW)"))
                val column = columns.indexOfFirst { it.startsWith(if (case.isRoundTrip) "t_avg" else "BW average") }
                lines[at + 1].trim().split(Regex("\\s+")).getOrNull(column)?.toDoubleOrNull()
            }
        value ?: throw BenchException("$name printed no figure for $case: $said")
        return if (case.isRoundTrip) 2 * value else value * MEBIBYTE / MEGABYTE
    }

    private companion object {
        const val PORT = 18_700
        const val LISTENING_MILLIS = 500L
        const val LIMIT_SECONDS = 60L
        const val MEBIBYTE = 1048576.0
        const val MEGABYTE = 1e6
    }
}
