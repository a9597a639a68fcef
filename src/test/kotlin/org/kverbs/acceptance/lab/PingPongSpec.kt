package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import org.kverbs.RdmaException
import org.kverbs.acceptance.contract.PORT
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.cli.kverbs
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.PingPong
import org.kverbs.cli.pingpong.PingPongException
import org.kverbs.cli.pingpong.PingPongResult
import org.kverbs.cli.pingpong.Waiting
import org.kverbs.dsl.openDevice
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.time.Duration.Companion.seconds

private const val DEVICE = "rxe0"
private const val MIB = 1 shl 20

/** Runs `kverbs pingpong` with the ping-pongs of rdma-core as its peers, on a real device. */
internal class PingPongSpec :
    FunSpec({
        val activeMtu = openDevice(DEVICE).use { it.queryPort(PORT).activeMtu().bytes() }
        val sizes = mapOf(RC to listOf(1, 4096, MIB), UC to listOf(1, 4096, MIB), UD to listOf(1, 1024, activeMtu))
        val games = sizes.flatMap { (type, all) -> all.map { Game(type, it, iterations = if (it == MIB) 20 else 50) } }

        for (game in games) {
            // A long game takes seconds on the lab's emulated processor: one way of waiting must do.
            val isLong = game.size == MIB
            for (waiting in if (isLong) listOf(Waiting.SUSPENDED) else Waiting.entries) {
                val ours = game.options(waiting)
                test("should play $game with itself, by $waiting") {
                    PingPong(ours).run().shouldBeWhole(game)
                }
                for (theirEvents in if (isLong) listOf(false) else listOf(false, true)) {
                    val waitings = "by $waiting, C ${if (theirEvents) "by events" else "polling"}"
                    test("should play $game as the client of a C server, $waitings") {
                        val port = freePort()
                        game.c(port, theirEvents).use { c ->
                            awaitListener(port)
                            PingPong(ours.copy(peer = Peer.Server("localhost", port))).run().shouldBeWhole(game)
                            c.shouldHavePlayed(game)
                        }
                    }
                    test("should play $game as the server of a C client, $waitings") {
                        val port = freePort()
                        val server = inThread { PingPong(ours.copy(peer = Peer.Client(port))).run() }
                        awaitListener(port)
                        game.c(port, theirEvents, "localhost").use { it.shouldHavePlayed(game) }
                        server.join().bytes shouldBe game.bytes
                    }
                }
            }
        }

        test("should post receives again and again when few are posted at a time, and when one is") {
            listOf(1, 2, 3).forEach { depth ->
                val game = Game(RC, 100, 200)
                PingPong(game.options().copy(receiveDepth = depth)).run().shouldBeWhole(game)
            }
        }

        for (type in listOf(RC, UC, UD)) {
            for (waiting in Waiting.entries) {
                test("should end when a C peer of type $type dies, and say why, by $waiting") {
                    val port = freePort()
                    val endless = Game(type, 64, 10_000_000)
                    endless.c(port, events = waiting == Waiting.EVENTS).use { c ->
                        awaitListener(port)
                        val options =
                            endless
                                .options(
                                    waiting,
                                ).copy(timeout = 2.seconds, peer = Peer.Server("localhost", port))
                        val met = CountDownLatch(1)
                        val game = PingPong(options) { if (it.startsWith("  remote address:")) met.countDown() }
                        val client = inThread { runCatching { game.run() } }
                        met.await(60, SECONDS) shouldBe true // otherwise the client is only told that no server listens
                        Thread.sleep(500)
                        withClue("already over: ${client.getNow(null)}") { client.isDone shouldBe false }
                        c.kill()
                        val failure = shouldThrow<RdmaException> { client.get(60, SECONDS).getOrThrow() }
                        // RC misses acknowledgements if it was just sending; other types can tell only by the silence.
                        val unacknowledged = "does not answer any more, after" in failure.message.orEmpty()
                        if (type != RC || !unacknowledged) {
                            failure.message shouldContain
                                "nothing came from the peer for 2s (--timeout)"
                        }
                    }
                }
            }
        }

        test("should name both sizes when a C client sends messages of another one") {
            val port = freePort()
            val options = Game(RC, 200, 5).options().copy(peer = Peer.Client(port))
            val server = inThread { runCatching { PingPong(options).run() } }
            awaitListener(port)
            Game(RC, 100, 5).c(port, events = false, "localhost").use {
                shouldThrow<PingPongException> { server.join().getOrThrow() }.message shouldContain
                    "messages of 100 bytes, not 200"
            }
        }

        test("should tell a C client without -g that it needs one") {
            val port = freePort()
            val options = Game(RC, 64, 5).options().copy(peer = Peer.Client(port))
            val server = inThread { runCatching { PingPong(options).run() } }
            awaitListener(port)
            CProgram("ibv_rc_pingpong", "-d", DEVICE, "-p", "$port", "localhost").use {
                shouldThrow<PingPongException> { server.join().getOrThrow() }.message shouldContain
                    "start it with -g INDEX"
            }
        }

        test("should name the device and print C's lines and the latency when it is both ends") {
            val said = Said("pingpong", "-d", DEVICE, "-n", "100", "--warm-up", "10", "-s", "64", "-c")
            withClue(said) {
                said.status shouldBe 0
                said.out shouldMatch
                    Regex(
                        """
                        |  device:         rxe0, port 1, GID index 1, RC
                        |  played by:      suspend functions of coroutines, polling all the time
                        |  local address:  LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:10\.99\.0\.1
                        |  remote address: LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:10\.99\.0\.1
                        |  warm-up:        10 rounds, which are not measured
                        |12800 bytes in \d+\.\d\d seconds = \d+\.\d\d Mbit/sec
                        |100 iters in \d+\.\d\d seconds = \d+\.\d\d usec/iter
                        |there and back: min \d+\.\d\d, median \d+\.\d\d, 99% \d+\.\d\d usec
                        |
                        """.trimMargin(),
                    )
            }
        }

        listOf(
            listOf("--type", "ud", "-s", "${activeMtu + 1}") to
                "at most the port's MTU of $activeMtu bytes, and ${activeMtu + 1} is more",
            listOf("-s", "1000000000") to "rxe0 sends messages of at most 8388608 bytes",
            listOf("-i", "2") to "rxe0 has ports 1 to 1, not 2",
            listOf("--transport", "memory") to
                "rxe0 is hardware with a wire of its own; leave out this option, or take embedded0 or embedded1",
            listOf("--transport", "udp") to "rxe0 is hardware with a wire of its own",
            listOf("-g", "250") to "is empty; in use are [0",
            listOf("-r", "1000000") to "rxe0 takes at most",
        ).forEach { (arguments, message) ->
            test(
                "should refuse pingpong ${arguments.joinToString(" ")} with exit status 2, as the device can't do that",
            ) {
                val said = Said("pingpong", "-d", DEVICE, *arguments.toTypedArray())
                withClue(said) {
                    said.status shouldBe 2
                    said.err shouldContain message
                }
            }
        }

        test("should list the devices when none has that name") {
            val said = Said("pingpong", "-d", "nope")
            said.status shouldBe 1
            said.err shouldContain DEVICE
        }
    })

private fun PingPongResult.shouldBeWhole(game: Game) {
    bytes shouldBe game.bytes
    roundTrips?.count shouldBe game.iterations
}

/** The output of one command line, run in this process. */
private class Said(
    vararg arguments: String,
) {
    private val outText = StringBuilder()
    private val errText = StringBuilder()
    val status = kverbs(arguments.asList(), outText, errText)
    val out = outText.toString()
    val err = errText.toString()

    override fun toString() = "exit status $status\n$out$err"
}
