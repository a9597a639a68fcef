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
        val fixed = listOf("-F", "-d", device(), "-s", "${case.bytes}", "-D", "$seconds", "-p", "$PORT")
        // As the others have it: 16 messages under way, and a completion for each. It counts completions, and would
        // have one for 100 messages.
        val options = if (case.isRoundTrip) fixed else fixed + listOf("-t", "16", "-Q", "1")
        val server = ChildProcess(listOf(program) + options).start()
        // What it prints must not fill its pipe.
        val drained = CompletableFuture.runAsync { server.inputReader().forEachLine { } }
        try {
            val limit = Duration.ofSeconds(seconds * 2 + LIMIT_SECONDS)
            val said = askServer(server, listOf(program) + options + "127.0.0.1", limit)
            server.waitFor(LIMIT_SECONDS, SECONDS)
            return figure(case, said)
        } finally {
            server.destroyForcibly().waitFor()
            drained.join()
        }
    }

    /** Runs the client, again and again until the server listens. A client that was connected ends its server, too. */
    private fun askServer(
        server: Process,
        client: List<String>,
        limit: Duration,
    ): String {
        val end = System.nanoTime() + SECONDS.toNanos(LISTENING_SECONDS)
        while (true) {
            try {
                return ChildProcess(client).output(limit)
            } catch (e: BenchException) {
                if (!server.isAlive || System.nanoTime() > end) throw e
                Thread.sleep(PAUSE_MILLIS)
            }
        }
    }

    internal companion object {
        private const val PORT = 18_700
        private const val LISTENING_SECONDS = 5L
        private const val PAUSE_MILLIS = 50L
        private const val LIMIT_SECONDS = 60L
        private const val MEBIBYTE = 1048576.0
        private const val MEGABYTE = 1e6

        /**
         * Reads the row behind the titles, by the title of its column. A figure of zero is none: the program ended
         * before a completion came.
         */
        fun figure(
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
            if (value == null || value <= 0) throw BenchException("perftest printed no figure for $case: $said")
            return if (case.isRoundTrip) 2 * value else value * MEBIBYTE / MEGABYTE
        }
    }
}
