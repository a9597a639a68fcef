package org.kverbs.cli.pingpong

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.Device
import org.kverbs.cli.Outcome
import org.kverbs.cli.kverbs
import org.kverbs.cli.process
import org.kverbs.cli.signal
import java.net.ServerSocket
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.random.Random
import kotlin.streams.asSequence

/** A number of messages that lasts until the test ends the ping-pong. */
private const val ENDLESS = "10000000"
private const val WAIT_SECONDS = 30L

private fun shape(vararg lines: String) = Regex(lines.joinToString("") { "$it\\n" } + "(.+\\n){3}")

private fun local(gid: String) =
    " {2}local address: {2}LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:$gid"

private fun remote(gid: String) =
    " {2}remote address: LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:$gid"

private val USUAL = listOf("--warm-up", "10", "-s", "1000", "-c", "--type")
private const val WARM_UP = " {2}warm-up: {8}10 rounds, which are not measured"

private fun played(by: Waiting) = " {2}played by: {6}$by"

private fun pair(by: Waiting = Waiting.SUSPENDED) =
    arrayOf(
        " {2}device: {9}embedded0, port 1, GID index 1, RC",
        " {2}remote device: {2}embedded1, port 1, GID index 1, RC",
        " {2}transport: {6}in process, from memory to memory",
        played(by),
        local("198\\.18\\.0\\.1"),
        remote("198\\.18\\.0\\.2"),
        WARM_UP,
    )

private fun children(of: ProcessHandle = ProcessHandle.current()) = of.descendants().asSequence().toList()

/** The process of the server, once there is one. */
private fun serverOf(process: ProcessHandle): ProcessHandle =
    generateSequence {
        Thread.sleep(
            20,
        )
    }.take(WAIT_SECONDS.toInt() * 50).firstNotNullOf { children(process).firstOrNull() }

internal class TransportSpec :
    FunSpec({
        val isBare = Device.list().first().provider() == "embedded"

        test("should take hardware if there is any, and else give each end an embedded device") {
            val first = Device.list().first()
            val outcome = Outcome("pingpong", "-n", "20", "-c", "--warm-up", "10")
            withClue(outcome) {
                outcome.status shouldBe 0
                if (first.provider() == "embedded") {
                    outcome.out shouldMatch shape(*pair())
                } else {
                    outcome.out shouldContain "  device:         ${first.name()}, "
                    outcome.out shouldNotContain "embedded"
                }
            }
        }

        val options =
            mapOf(
                Waiting.SUSPENDED to null,
                Waiting.EVENTS to "--events",
                Waiting.ADAPTIVE to "--adaptive",
                Waiting.POLLED to "--poll",
            )
        for ((by, option) in options) {
            for (type in listOf("rc", "uc", "ud")) {
                test("should play $type in one process, on two embedded devices, by $by") {
                    val arguments = listOf("-n", "200") + USUAL + listOfNotNull(type, option)
                    val outcome = Outcome("pingpong", "--transport", "memory", *arguments.toTypedArray())
                    withClue(outcome) {
                        outcome.status shouldBe 0
                        outcome.out shouldMatch
                            shape(*pair(by).map { it.replace("RC", type.uppercase()) }.toTypedArray())
                        outcome.out shouldContain "400000 bytes in "
                    }
                }

                test("should play $type between two processes over UDP, by $by, and leave none behind") {
                    val arguments = listOf("-n", "50") + USUAL + listOfNotNull(type, option)
                    val outcome = Outcome("pingpong", "--transport", "udp", *arguments.toTypedArray())
                    withClue(outcome) {
                        outcome.status shouldBe 0
                        outcome.out shouldMatch
                            shape(
                                " {2}device: {9}embedded0, port 1, GID index 0, ${type.uppercase()}",
                                " {2}transport: {6}RoCEv2 over UDP, two processes",
                                played(by),
                                local("127\\.[0-9.]+"),
                                remote("127\\.[0-9.]+"),
                                WARM_UP,
                            )
                        outcome.out shouldContain "100000 bytes in "
                        children().shouldBeEmpty()
                    }
                }
            }
        }

        test(
            "should play between two terminals of a machine without hardware, by the command that the first one prints",
        ).config(enabled = isBare) {
            // Below those that Linux gives to sockets which name none: another program could get one of these
            // meanwhile.
            val ports = generateSequence { Random.nextInt(20_000, 32_000) }
            val port = ports.first { runCatching { ServerSocket(it).close() }.isSuccess }
            val command = "./kverbs pingpong 127.0.0.1:$port --size 100 --iters 30 --chk"
            val out = StringBuilder()
            val ready = CompletableFuture<Unit>()
            val heard =
                object : Appendable by out {
                    override fun append(text: CharSequence?): Appendable =
                        apply { if ("the other end" in out.append(text)) ready.complete(Unit) }
                }
            val arguments = listOf("pingpong", "--listen", "-p", "$port", "-s", "100", "-n", "30", "-c")
            val server = CompletableFuture.supplyAsync { kverbs(arguments, heard) }
            ready.orTimeout(WAIT_SECONDS, SECONDS).get()
            out.toString() shouldContain "\n  the other end:  $command"
            val client = Outcome(*command.removePrefix("./kverbs ").split(' ').toTypedArray())
            withClue(client) {
                client.status shouldBe 0
                client.out shouldContain "  transport:      RoCEv2 over UDP, two processes\n"
                client.out shouldContain "6000 bytes in "
            }
            server.get(WAIT_SECONDS, SECONDS) shouldBe 0
        }

        listOf(
            listOf("--listen", "-d", "embedded0") to "--device: embedded0 reaches devices of its own process only",
            listOf("127.0.0.1", "-d", "embedded1") to "--device: embedded1 reaches devices of its own process only",
            listOf("192.0.2.1") to "HOST[:PORT]: this machine has no RDMA hardware to reach 192.0.2.1 by",
        ).forEach { (arguments, message) ->
            test(
                "should refuse ends that can't meet, ${arguments.joinToString(" ")}, and name what makes them",
            ).config(enabled = isBare) {
                val outcome = Outcome("pingpong", *arguments.toTypedArray())
                outcome.status shouldBe 2
                outcome.err shouldContain message
                outcome.err shouldContain "--transport udp:ADDRESS"
            }
        }

        test("should play both ends on the one device that is named") {
            for (arguments in listOf(arrayOf(), arrayOf("--transport", "memory"), arrayOf("-e"), arrayOf("--poll"))) {
                val outcome = Outcome("pingpong", "-n", "20", "-d", "embedded1", *arguments)
                withClue(outcome) {
                    outcome.status shouldBe 0
                    outcome.out shouldContain "  device:         embedded1, "
                    outcome.out shouldNotContain "remote device"
                    outcome.out.lines().count { it.endsWith("198.18.0.2") } shouldBe 2
                }
            }
        }

        test(
            "should name the one device that a process has for UDP when another is asked for, and leave no process " +
                "behind",
        ) {
            val outcome = Outcome("pingpong", "--transport", "udp", "-d", "embedded1")
            outcome.status shouldBe 1
            outcome.err shouldBe "kverbs: there is no device 'embedded1'; this machine has embedded0\n"
            children().shouldBeEmpty()
        }

        test("should refuse what the device can't do with exit status 2, and leave no process behind") {
            val outcome = Outcome("pingpong", "--transport", "udp", "--ib-port", "2")
            outcome.status shouldBe 2
            outcome.err shouldContain "embedded0 has ports 1 to 1, not 2"
            children().shouldBeEmpty()
        }

        test("should pass on what the server's process says, and its exit status") {
            val failure =
                shouldThrow<ServerProcessException> {
                    ServerProcess(
                        PingPongOptions(devicePort = 2),
                    ).use { it.play { throw PingPongException("nobody there") } }
                }
            failure.status shouldBe 2
            failure.message shouldContain "embedded0 has ports 1 to 1, not 2"
            failure.message shouldContain "the client's: nobody there"
            children().shouldBeEmpty()
        }

        for (waiting in listOf("rc", "ud", "ud -e", "rc --poll")) {
            test("should end at once, with the server's exit status, when that is killed: $waiting") {
                val arguments = listOf("pingpong", "--transport", "udp", "-n", ENDLESS, "--type") + waiting.split(' ')
                val err = StringBuilder()
                val underway = CountDownLatch(1)
                val out = StringBuilder()
                val watched =
                    object : Appendable by out {
                        override fun append(text: CharSequence?): Appendable =
                            apply { if ("remote address" in out.append(text)) underway.countDown() }
                    }
                val status = CompletableFuture.supplyAsync { kverbs(arguments, watched, err) to Thread.interrupted() }
                underway.await(WAIT_SECONDS, SECONDS) shouldBe true
                serverOf(ProcessHandle.current()).destroyForcibly()
                status.get(WAIT_SECONDS, SECONDS) shouldBe (137 to false)
                err.toString() shouldContain "the server's process ended with exit status 137: it said nothing"
                children().shouldBeEmpty()
            }
        }

        for (transport in listOf("memory", "udp")) {
            test("should print the figures so far, and nothing else, when it is interrupted: $transport") {
                val command = listOf("pingpong", "--transport", transport, "-n", ENDLESS, "--warm-up", "0")
                // Nothing tells when the first message is measured: an interrupt before it is tried again later.
                generateSequence(100L) { 2 * it }.first { pause ->
                    val game = process(command)
                    try {
                        val lines = game.inputReader().lineSequence().iterator()
                        lines.asSequence().first { "warm-up" in it }
                        Thread.sleep(pause)
                        signal("INT", game)
                        val rest = lines.asSequence().toList()
                        game.waitFor(WAIT_SECONDS, SECONDS) shouldBe true
                        game.errorReader().readText().shouldBeEmpty()
                        game.exitValue() shouldBe 130
                        val isTooEarly = rest.first() == "interrupted before the first message was measured"
                        if (!isTooEarly) {
                            rest.first() shouldBe "interrupted; so far:"
                            rest[2] shouldMatch "[0-9]+ iters in .* usec/iter"
                        }
                        !isTooEarly
                    } finally {
                        game.destroyForcibly() // otherwise it plays for ever
                    }
                }
            }
        }

        for (forcibly in listOf(false, true)) {
            test("should take the server's process with it when it is ${if (forcibly) "killed" else "terminated"}") {
                val client = process(listOf("pingpong", "--transport", "udp", "-n", ENDLESS))
                val server =
                    try {
                        client.inputReader().useLines { lines -> lines.any { "remote address" in it } } shouldBe true
                        serverOf(client.toHandle())
                    } finally {
                        if (forcibly) client.destroyForcibly() else client.destroy()
                    }
                client.waitFor(WAIT_SECONDS, SECONDS) shouldBe true
                server.onExit().get(WAIT_SECONDS, SECONDS)
                server.isAlive shouldBe false
            }
        }
    })
