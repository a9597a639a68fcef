package org.kverbs.cli.perf

import com.github.ajalt.clikt.completion.CompletionCandidates
import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.OptionCallTransformContext
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.types.choice
import com.github.ajalt.clikt.parameters.types.int
import com.github.ajalt.clikt.parameters.types.restrictTo
import org.kverbs.attributes.Mtu
import org.kverbs.cli.bytesOf
import org.kverbs.cli.deviceOption
import org.kverbs.cli.file.reason
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.Transport
import org.kverbs.cli.pingpong.UnfitOptionException
import org.kverbs.cli.pingpong.Waiting
import org.kverbs.cli.requireFree
import org.kverbs.cli.wrong
import java.io.IOException
import java.nio.file.FileAlreadyExistsException
import java.nio.file.Path
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.CREATE_NEW
import java.nio.file.StandardOpenOption.TRUNCATE_EXISTING
import java.nio.file.StandardOpenOption.WRITE
import kotlin.io.path.writeText
import kotlin.time.Duration.Companion.seconds

/** `kverbs perf`: the tests and the options of perftest's programs. */
class PerfCommand : CoreCliktCommand("perf") {
    private val test by argument("TEST", help = "What to measure: ${PerfTest.entries.joinToString()}")
        .choice(PerfTest.entries.associateBy { "$it" })
    private val host by argument(HOST, help = "The server to be the client of; without HOST this is the server")
        .optional()
    private val local by option("--local", help = "Be both ends, in this process").flag()
    private val port by option("-p", "--port", metavar = "PORT", help = "TCP port to meet the peer at (default 18515)")
        .int()
        .restrictTo(1..TCP_PORTS)
    private val device by deviceOption("RDMA device (default the first; without hardware, an embedded one each)")
    private val transport by option(
        "--transport",
        metavar = "memory|udp:ADDRESS",
        help = "Embedded devices: memory (with --local), or udp:ADDRESS (this end's address, RoCEv2)",
    ).convert { transport(it) }
    private val devicePort by option("-i", "--ib-port", metavar = "PORT", help = "Port of the device (default 1)")
        .int()
        .restrictTo(1..255)
        .default(1)
    private val gidIndex by option(
        "-x",
        "--gid-index",
        metavar = "INDEX",
        help = "GID to send from (default: the one that suits best)",
    ).int()
        .restrictTo(0..255)
    private val size by option(
        "-s",
        "--size",
        metavar = "BYTES",
        help = "Size of a message, such as 64, 4K or 1MiB (default 2 for latency, 65536 for bandwidth)",
    ).convert { size(it) }
    private val all by option("-a", "--all", help = "All sizes from 2 to 2^23 bytes").flag()
    private val iterations by option(
        "-n",
        "--iters",
        metavar = "COUNT",
        help = "Messages of a queue pair (default 1000 for latency, 5000 for bandwidth)",
    ).int()
        .restrictTo(1..MOST)
    private val duration by option("-D", "--duration", metavar = "SECONDS", help = "Send for so long, in place of -n")
        .int()
        .restrictTo(1..MOST_SECONDS)
    private val queuePairs by option(
        "-q",
        "--qp",
        metavar = "COUNT",
        help = "Queue pairs of a bandwidth test (default 1)",
    ).int()
        .restrictTo(1..MOST_QUEUE_PAIRS)
    private val depth by option(
        "-t",
        "--tx-depth",
        metavar = "COUNT",
        help = "Messages of a queue pair under way in a bandwidth test (default 128)",
    ).int()
        .restrictTo(1..MOST_DEPTH)
    private val receiveDepth by option("-r", "--rx-depth", metavar = "COUNT", help = "Receives posted (default 512)")
        .int()
        .restrictTo(1..MOST_DEPTH)
        .default(512)
    private val mtu by option("-m", "--mtu", metavar = "BYTES", help = "Path MTU, 256 to 4096 (default: the port's)")
        .choice((8..12).map { Mtu.ofBytes(1 shl it) }.associateBy { "${it.bytes()}" })
    private val bothWays by option("-b", "--bidirectional", help = "Both ends send; the rates are the sum").flag()
    private val managed by option("-R", "--rdma_cm", help = "Connect the queue pairs by rdma_cm").flag()
    private val events by option(
        "-e",
        "--events",
        help = "Sleep until there are completions (default: poll all the time)",
    ).flag()
    private val poll by option(
        "--poll",
        help = "Post and poll plain verbs all the time (default: suspend functions of coroutines)",
    ).flag()
    private val cpuFrequency by option("-F", "--CPU-freq", help = "Ignored: kverbs reads no CPU frequency").flag()
    private val warmUp by option(
        "--warm-up",
        metavar = "COUNT",
        help = "Messages of a queue pair before the measured ones (default up to 20000)",
    ).int()
        .restrictTo(0..MOST)
    private val perftest by option("--perftest", help = "The peer is a program of perftest, such as ib_write_lat")
        .flag()
    private val timeout by option("--timeout", metavar = "SECONDS", help = "How long to wait for the peer (default 60)")
        .int()
        .restrictTo(1..MOST_SECONDS)
        .default(60)
    private val gigabits by option("--report_gbits", help = "Bandwidth in Gb/sec (default MB/sec, of 2^20 bytes)")
        .flag()
    private val csv by option("--csv", help = "Print CSV").flag()
    private val json by option("--json", help = "Print JSON").flag()
    private val percentiles by option("--percentiles", help = "Print the percentiles of the latencies").flag()
    private val histogram by option("--histogram", help = "Print a histogram of the latencies").flag()
    private val svg by option(
        "--svg",
        metavar = "FILE",
        help = "Draw a chart",
        completionCandidates = CompletionCandidates.Path,
    )
    private val isForced by option("--force", help = "Let --svg replace a file").flag()
    private val progress by option("--progress", help = "Show a bar even if standard error is no terminal").flag()

    override fun help(context: Context) =
        """
        Measure latency and bandwidth between two ends, as perftest's programs do.

        Without HOST the command is the server, with HOST the client, with --local both ends. Give both ends the same
        test and options; two ends that differ say in what. Latencies of send and write are half of the time there and
        back, those of read and atomic operations the whole.

        The JVM compiles what runs often, so that the first messages are not measured.

        With --perftest the peer is ib_send_lat, ib_write_bw and so on, of version 6.06 (Debian 12): with one size, a
        number of messages, and no rdma_cm. Start it with -F.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          kverbs perf write-lat --local                 both ends here
          kverbs perf write-bw -s 1MiB --poll           the server
          kverbs perf write-bw -s 1MiB --poll HOST      its client
          kverbs perf send-lat --perftest HOST          the client of ib_send_lat
          kverbs perf read-lat --local --histogram --svg read.svg
        """.trimIndent()

    override fun run() {
        requireFit()
        val given =
            PerfOptions(
                test = test,
                device = device,
                transport = transport,
                devicePort = devicePort,
                gidIndex = gidIndex,
                sizes = sizes(),
                iterations = iterations ?: if (test.isLatency) 1000 else 5000,
                duration = duration?.seconds,
                depth = depth ?: if (test.isLatency) 1 else 128,
                receiveDepth = receiveDepth,
                queuePairs = queuePairs ?: 1,
                mtu = mtu,
                bothWays = bothWays,
                waiting =
                    if (poll) {
                        Waiting.POLLED
                    } else if (events) {
                        Waiting.EVENTS
                    } else {
                        Waiting.SUSPENDED
                    },
                byConnectionManager = managed,
                asPerftest = perftest,
                warmUp = warmUp,
                timeout = timeout.seconds,
                peer = peer(),
            )
        if (cpuFrequency) echo("kverbs: -F is ignored, as kverbs reads no CPU frequency", err = true)
        try {
            measure(given.forTwoProcesses())
        } catch (e: UnfitOptionException) {
            wrong(e.option, e.message.orEmpty())
        }
    }

    private fun measure(options: PerfOptions) {
        val format =
            if (json) {
                PerfFormat.JSON
            } else if (csv) {
                PerfFormat.CSV
            } else {
                PerfFormat.TABLE
            }
        val units = if (gigabits) PerfUnits.GIGABITS else PerfUnits.MEBIBYTES
        val output = PerfOutput(format, units, percentiles, histogram)
        val printer = PerfPrinter(options, output, { echo(it, err = true) }) { echo(it) }
        printer.begin()
        if (progress || System.console()?.isTerminal == true) {
            PerfProgress(options, printer, System.err).use { Perf(options, it).run() }
        } else {
            Perf(options, printer).run()
        }
        printer.end()
        svg?.let { draw(printer, it) }
    }

    private fun draw(
        printer: PerfPrinter,
        file: String,
    ) {
        val chart = printer.svg() ?: throw CliktError("kverbs: $file is not written: the client has the figures")
        try {
            val unlessThere = if (isForced) emptyArray() else arrayOf(CREATE_NEW)
            Path.of(file).writeText(chart, options = arrayOf(CREATE, TRUNCATE_EXISTING, WRITE, *unlessThere))
        } catch (_: FileAlreadyExistsException) {
            throw CliktError("kverbs: $file was made by another program meanwhile: it is kept, and no chart is written")
        } catch (e: IOException) {
            throw CliktError("kverbs: can't write $file: ${reason(e)}", e)
        }
    }

    /** Refuses options that no device could fulfil together. */
    private fun requireFit() {
        val isAtomic = test.operation == PerfTest.Operation.ATOMIC
        when {
            isAtomic && (size ?: PerfOptions.ATOMIC_BYTES) != PerfOptions.ATOMIC_BYTES -> {
                wrong("--size", "an atomic operation has ${PerfOptions.ATOMIC_BYTES} bytes")
            }

            isAtomic && all -> {
                wrong("--all", "an atomic operation has ${PerfOptions.ATOMIC_BYTES} bytes")
            }

            all && size != null -> {
                wrong("--all", "give it or --size")
            }

            iterations != null && duration != null -> {
                wrong("--duration", "give it or --iters")
            }

            test.isLatency && queuePairs != null -> {
                wrong("--qp", "$test has one queue pair")
            }

            test.isLatency && depth != null -> {
                wrong("--tx-depth", "$test has one message under way")
            }

            test.isLatency && bothWays -> {
                wrong("--bidirectional", "it is for tests of bandwidth")
            }

            !test.isLatency && (percentiles || histogram) -> {
                wrong(if (percentiles) "--percentiles" else "--histogram", "$test takes no time of single messages")
            }

            events && poll -> {
                wrong("--poll", "it never sleeps: leave out --events or this")
            }

            events && test == PerfTest.WRITE_LAT -> {
                wrong("--events", "$test looks at memory: nothing completes at the end that is written to")
            }

            csv && json -> {
                wrong("--json", "give it or --csv")
            }

            local && host != null -> {
                wrong(HOST, "--local is both ends: leave out one of them")
            }

            local && port != null -> {
                wrong("--port", "--local is both ends: no peer comes")
            }

            transport == Transport.Memory && !local -> {
                wrong("--transport", "memory joins two ends in one process: add --local")
            }

            transport is Transport.Udp && local -> {
                wrong("--transport", "an address is for one end: leave out --local")
            }
        }
        if (perftest) requireFitForPerftest()
        svg?.let { requireFree("--svg", it, isForced) }
    }

    /** Refuses a chart's file before the measurement, which can take minutes. */
    private fun requireFitForPerftest() {
        val reason =
            when {
                local -> {
                    "--local has its own peer"
                }

                all -> {
                    "-a is of kverbs at both ends; give one size"
                }

                managed -> {
                    "-R is of kverbs at both ends"
                }

                warmUp != null -> {
                    "perftest's programs have no warm-up; leave out --warm-up"
                }

                duration != null && (test.isLatency || test.operation == PerfTest.Operation.SEND) -> {
                    "perftest's $test does not tell its last message; give -n in place of -D"
                }

                else -> {
                    return
                }
            }
        wrong("--perftest", reason)
    }

    private fun sizes() = if (all) PerfOptions.ALL_SIZES else listOf(size ?: PerfOptions.defaultSize(test))

    private fun OptionCallTransformContext.transport(text: String): Transport =
        when {
            text == "memory" -> Transport.Memory
            text.startsWith("udp:") -> Transport.Udp(text.removePrefix("udp:"))
            else -> fail("$text is not memory or udp:ADDRESS")
        }

    private fun OptionCallTransformContext.size(text: String): Int {
        val bytes = bytesOf(text) ?: fail("$text is no size: give bytes, or a number with a unit as 64K, 1MiB or 1MB")
        if (bytes !in 1..LONGEST) fail("$text is not in the valid range of 1 to $LONGEST bytes (1GiB)")
        return bytes.toInt()
    }

    private fun peer(): Peer {
        val server = host
        return when {
            local -> Peer.Own
            server != null -> server(server)
            else -> Peer.Client(port ?: Peer.DEFAULT_PORT, (transport as? Transport.Udp)?.address)
        }
    }

    private fun server(text: String): Peer.Server {
        val match = SERVER.matchEntire(text) ?: wrong(HOST, "\"$text\" is no host, and no host with a port")
        val (ipv6, bare, name, given) = match.destructured
        val number = given.ifEmpty { null }?.toInt()
        if (number != null && number !in 1..TCP_PORTS) wrong(HOST, "$number is not a TCP port, 1 to $TCP_PORTS")
        if (number != null && port != null && number != port) wrong("--port", "it says $port, but HOST says $number")
        return Peer.Server(ipv6 + bare + name, number ?: port ?: Peer.DEFAULT_PORT)
    }

    private companion object {
        const val HOST = "HOST[:PORT]"
        const val TCP_PORTS = 65535
        const val MOST = 999_999_999
        const val MOST_SECONDS = 1_000_000
        const val MOST_QUEUE_PAIRS = 1024
        const val MOST_DEPTH = 16384
        const val LONGEST = 1L shl 30
        val SERVER =
            Regex(
                "(?:\\[([0-9a-fA-F:.]+(?:%[^]]+)?)]|([0-9a-fA-F.]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*(?:%.+)?)|" +
                    "([^:\\[\\]]+))(?::([0-9]{1,5}))?",
            )
    }
}
