package org.kverbs.cli.pingpong

import com.github.ajalt.clikt.completion.CompletionCandidates
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.ProgramResult
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
import org.kverbs.attributes.QueuePairType
import org.kverbs.cli.bytesOf
import org.kverbs.cli.deviceOption
import org.kverbs.cli.wrong
import java.io.OutputStream
import kotlin.time.Duration.Companion.seconds

/** `kverbs pingpong`: [PingPong] with the options of ibv_rc_pingpong(1), and more. */
class PingPongCommand : CoreCliktCommand("pingpong") {
    private val host by argument(HOST, help = "The server to be the client of").optional()
    private val type by option("--type", metavar = "rc|uc|ud", help = "Type of the queue pairs (default rc)")
        .convert(completionCandidates = CompletionCandidates.Fixed("rc", "uc", "ud")) { type(it) }
        .default(QueuePairType.RC)
    private val listen by option("--listen", help = "Be the server, and wait for a client").flag()
    private val port by option("-p", "--port", metavar = "PORT", help = "TCP port to meet the peer at (default 18515)")
        .int()
        .restrictTo(1..TCP_PORTS)
    private val device by deviceOption("RDMA device (default the first; without hardware, an embedded one each)")
    private val transport by option(
        "--transport",
        metavar = "memory|udp|udp:ADDRESS",
        help =
            "What joins embedded devices: memory (in one process), udp (RoCEv2, two processes), " +
                "udp:ADDRESS (this end's, with HOST or --listen)",
    ).convert { transport(it) }
    private val untilInputEnds by option(ServerProcess.UNTIL_INPUT_ENDS, hidden = true).flag()
    private val devicePort by option("-i", "--ib-port", metavar = "PORT", help = "Port of the device (default 1)")
        .int()
        .restrictTo(1..255)
        .default(1)
    private val size by option(
        "-s",
        "--size",
        metavar = "BYTES",
        help = "Size of a message, such as 64, 4K or 1MiB (default 4096, ud 1024)",
    ).convert { size(it) }
    private val mtu by option(
        "-m",
        "--mtu",
        metavar = "BYTES",
        help = "Path MTU, 256 to 4096 (default 1024); not for ud",
    ).choice((8..12).map { Mtu.ofBytes(1 shl it) }.associateBy { "${it.bytes()}" })
    private val receiveDepth by option("-r", "--rx-depth", metavar = "COUNT", help = "Receives posted (default 500)")
        .int()
        .restrictTo(1..1_000_000)
        .default(500)
    private val iterations by option("-n", "--iters", metavar = "COUNT", help = "Messages each way (default 1000)")
        .int()
        .restrictTo(1..MOST_ROUNDS)
        .default(1000)
    private val warmUp by option(
        "--warm-up",
        metavar = "COUNT",
        help =
            "Messages each way before these (default 20000, fewer if they are long; none if the peer is a ping-pong " +
                "of rdma-core)",
    ).int()
        .restrictTo(0..MOST_ROUNDS)
    private val serviceLevel by option("-l", "--sl", metavar = "LEVEL", help = "Service level (default 0)")
        .int()
        .restrictTo(0..15)
        .default(0)
    private val events by option(
        "-e",
        "--events",
        help = "Sleep until there are completions (default: poll all the time)",
    ).flag()
    private val adaptive by option(
        "--adaptive",
        help = "Poll while there is traffic, and sleep when nothing comes for a while",
    ).flag()
    private val poll by option(
        "--poll",
        help = "Post and poll plain verbs all the time (default: suspend functions of coroutines)",
    ).flag()
    private val gidIndex by option(
        "-g",
        "--gid-idx",
        metavar = "INDEX",
        help = "GID to send from (default: the one that suits best)",
    ).int()
        .restrictTo(0..255)
    private val check by option("-c", "--chk", help = "Check the bytes of every message").flag()
    private val timeout by option("--timeout", metavar = "SECONDS", help = "How long to wait for the peer (default 60)")
        .int()
        .restrictTo(1..1_000_000)
        .default(60)

    override fun help(context: Context) =
        """
        Measure messages there and back between two ends.

        With HOST the command is the client, with --listen the server, with neither it is both ends: in one process, or
        with --transport udp in two. The peer can be ibv_rc_pingpong, ibv_uc_pingpong or ibv_ud_pingpong, too. Give both
        ends the same type, size, MTU and number of messages.

        The JVM compiles what runs often. So the first messages are not measured; the figures are those of the steady
        state. Ctrl-C prints the figures so far.

        Without hardware, HOST is a loopback address, which --listen prints. Ends on two machines without hardware each
        give their own address, --transport udp:ADDRESS.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          kverbs pingpong                      both ends here, on the first device
          kverbs pingpong --type ud -s 64      another type of queue pair, short messages
          kverbs pingpong --listen             one end; it prints the command for the other one
          kverbs pingpong -s 1MiB -n 100 HOST  the other end
        """.trimIndent()

    override fun run() {
        if (type == QueuePairType.UD && mtu != null) {
            wrong("--mtu", "it is for rc and uc; a message of ud is one packet")
        }
        if (untilInputEnds) endWithInput()
        val options =
            PingPongOptions(
                type = type,
                device = device,
                transport = transport,
                devicePort = devicePort,
                size = size ?: PingPongOptions.defaultSize(type),
                mtu = mtu ?: Mtu.MTU_1024,
                receiveDepth = receiveDepth,
                iterations = iterations,
                warmUp = warmUp,
                serviceLevel = serviceLevel,
                waiting = waiting(),
                gidIndex = gidIndex,
                check = check,
                timeout = timeout.seconds,
                peer = peer(),
            )
        try {
            echo(play(options))
        } catch (e: UnfitOptionException) {
            wrong(e.option, e.message.orEmpty())
        } catch (e: ServerProcessException) {
            echo("kverbs: ${e.message}", err = true)
            throw ProgramResult(e.status).apply { addSuppressed(e) }
        }
    }

    private fun play(given: PingPongOptions): PingPongResult {
        val options = given.forTwoTerminals()
        val server = options.peer as? Peer.Client
        val isOurChoice = given.transport == null && options.transport != null
        val game =
            PingPong(options) { line ->
                echo(line)
                if (server != null && isOurChoice && line.startsWith(PingPong.LISTENING)) {
                    echo("  the other end:  ${options.clientCommand(server)}")
                }
            }
        return Interruption({ tellSoFar(game) }).use { game.run() }
    }

    private fun tellSoFar(game: PingPong) {
        val figures = game.soFar()
        val text = if (figures == null) " before the first message was measured" else "; so far:\n$figures"
        echo("interrupted$text")
    }

    private fun OptionCallTransformContext.type(text: String): QueuePairType =
        when (text.lowercase()) {
            "rc" -> QueuePairType.RC
            "uc" -> QueuePairType.UC
            "ud" -> QueuePairType.UD
            "memory", "udp" -> fail("$text joins embedded devices and is for --transport; a type is rc, uc or ud")
            else -> fail("$text is not rc, uc or ud")
        }

    private fun OptionCallTransformContext.transport(text: String): Transport =
        when {
            text == "memory" -> Transport.Memory
            text == "udp" -> Transport.Udp()
            text.startsWith("udp:") -> Transport.Udp(text.removePrefix("udp:"))
            text.lowercase() in listOf("rc", "uc", "ud") -> fail("$text is a type of queue pair: --type $text")
            else -> fail("$text is not memory, udp or udp:ADDRESS")
        }

    private fun OptionCallTransformContext.size(text: String): Int {
        val bytes = bytesOf(text) ?: fail("$text is no size: give bytes, or a number with a unit as 64K, 1MiB or 1MB")
        val same = if (text.all { it.isDigit() }) text else "$text, $bytes bytes,"
        if (bytes !in 1..LONGEST) fail("$same is not in the valid range of 1 to $LONGEST (1GiB)")
        return bytes.toInt()
    }

    /** Ends this process with its standard input, which ends when the process that started this one ends. */
    private fun endWithInput() {
        Thread.ofPlatform().daemon().start {
            System.`in`.transferTo(OutputStream.nullOutputStream())
            Runtime.getRuntime().halt(1)
        }
    }

    private fun waiting(): Waiting =
        when {
            poll && (events || adaptive) -> {
                wrong("--poll", "it never sleeps: leave out --${if (events) "events" else "adaptive"} or this")
            }

            events && adaptive -> {
                wrong("--adaptive", "it sleeps when nothing comes, --events always: leave out one")
            }

            events -> {
                Waiting.EVENTS
            }

            adaptive -> {
                Waiting.ADAPTIVE
            }

            poll -> {
                Waiting.POLLED
            }

            else -> {
                Waiting.SUSPENDED
            }
        }

    private fun peer(): Peer {
        val server = host?.let(::server)
        val address = (transport as? Transport.Udp)?.address
        return when {
            server != null && listen -> {
                wrong(HOST, "a server waits for its client: give HOST or --listen, not both")
            }

            transport == Transport.Memory && (server != null || listen) -> {
                wrong("--transport", "memory joins two ends in one process: leave out HOST and --listen")
            }

            server != null -> {
                server
            }

            listen -> {
                Peer.Client(port ?: Peer.DEFAULT_PORT, address)
            }

            address != null -> {
                wrong("--transport", "an address is for one end: give HOST or --listen, or leave out the address")
            }

            port != null -> {
                wrong("--port", "it needs HOST or --listen; with neither there is no TCP")
            }

            else -> {
                Peer.Own
            }
        }
    }

    /** `host`, `host:port`, `[address]`, `[address]:port`, or an IPv6 address as it is. */
    private fun server(text: String): Peer.Server {
        if (BARE_IPV6.matches(text)) return Peer.Server(text, port ?: Peer.DEFAULT_PORT)
        val match = SERVER.matchEntire(text) ?: wrong(HOST, "\"$text\" is no host, and no host with a port")
        val (ipv6, name, given) = match.destructured
        val number = given.ifEmpty { null }?.toInt()
        if (number != null && number !in 1..TCP_PORTS) wrong(HOST, "$number is not a TCP port, 1 to $TCP_PORTS")
        if (number != null && port != null && number != port) wrong("--port", "it says $port, but HOST says $number")
        return Peer.Server(ipv6 + name, number ?: port ?: Peer.DEFAULT_PORT)
    }

    private companion object {
        const val HOST = "HOST[:PORT]"
        const val TCP_PORTS = 65535
        const val MOST_ROUNDS = 999_999_999
        const val LONGEST = 1L shl 30
        val BARE_IPV6 = Regex("[0-9a-fA-F.]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*(%.+)?")
        val SERVER = Regex("(?:\\[([0-9a-fA-F:.]+(?:%[^]]+)?)]|([^:\\[\\]]+))(?::([0-9]{1,5}))?")
    }
}
