package org.kverbs.cli.perf

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.cli.process
import org.kverbs.cli.signal
import java.net.InetAddress
import java.net.ServerSocket
import java.net.Socket
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS

/** `kverbs perf` as the server and as its client, on embedded devices that send UDP packets. */
internal class TwoEndsPerfSpec :
    FunSpec({
        for (test in PerfTest.entries) {
            test("should measure $test over UDP, and print the same row at both ends") {
                val (server, client) = ends("$test -n 50 --warm-up 5 --timeout 20")
                withClue("$server\n$client") {
                    server.status shouldBe 0
                    client.status shouldBe 0
                    client.rows.single()[1] shouldBe "50"
                    server.rows shouldBe client.rows
                }
            }

            test("should speak perftest's exchange with itself: $test") {
                val words = "$test -n 50 --perftest --timeout 20"
                val (server, client) = ends(words, "$words --poll")
                withClue("$server\n$client") {
                    server.status shouldBe 0
                    client.status shouldBe 0
                    client.rows.single()[1] shouldBe "50"
                }
            }
        }

        test("should poll at one end and suspend at the other") {
            val (server, client) = ends("write-lat --poll -n 50 --warm-up 5", "write-lat -n 50 --warm-up 5")
            server.status to client.status shouldBe (0 to 0)
        }

        test("should speak perftest's exchange of several queue pairs, and of both directions") {
            for (options in listOf("write-bw -q 3", "send-bw -b", "read-bw -b -q 2", "atomic-bw -b")) {
                val (server, client) = ends("$options -n 50 --perftest --timeout 20")
                withClue("$server\n$client") {
                    server.status shouldBe 0
                    client.status shouldBe 0
                    if ("-b" in options) server.rows.single()[1] shouldBe client.rows.single()[1]
                }
            }
        }

        listOf(
            ("write-lat" to "send-lat") to "TEST is write-lat here and send-lat at the peer",
            ("write-bw -s 4K" to "write-bw -s 8K") to "--size is 4096 here and 8192 at the peer",
            ("write-bw -n 5" to "write-bw -n 6") to "--iters is 5 here and 6 at the peer",
            ("write-bw -q 2" to "write-bw") to "--qp is 2 here and 1 at the peer",
            ("read-bw -b" to "read-bw") to "--bidirectional is on here and off at the peer",
            ("read-bw -R" to "read-bw") to "--rdma_cm is on here and off at the peer",
            ("read-bw --warm-up 1" to "read-bw --warm-up 2") to "--warm-up is 1 here and 2 at the peer",
        ).forEach { (both, message) ->
            test("should tell two ends that differ in what: $both") {
                val (server, client) = ends(both.first, both.second)
                withClue("$server\n$client") {
                    server.status to client.status shouldBe (1 to 1)
                    server.err shouldContain message
                    client.err shouldContain "the two ends differ: "
                }
            }
        }

        test("should not name an option that follows from another: --warm-up, where --all is given to one end alone") {
            val (server, client) = ends("read-bw -a", "read-bw")
            withClue("$server\n$client") {
                server.err shouldContain
                    "the two ends differ: --size is all here and 65536 at the peer; give both the same"
                client.err shouldContain
                    "the two ends differ: --size is 65536 here and all at the peer; give both the same"
            }
        }

        for ((form, first) in listOf("--json" to "[", "--csv" to "test,bytes")) {
            test("should say that a server with $form listens, and not among its figures") {
                val (server, client) = ends("read-lat -n 5 --warm-up 0 $form")
                withClue("$server\n$client") {
                    server.status to client.status shouldBe (0 to 0)
                    server.err shouldMatch Regex("kverbs: listening at TCP port [0-9]+\n")
                    server.out shouldStartWith first
                    client.err shouldBe ""
                }
            }
        }

        test("should name --perftest to an end that meets a peer which speaks perftest's exchange") {
            val (server, client) = ends("write-lat --timeout 2", "write-lat --perftest --timeout 2")
            withClue("$server\n$client") {
                server.err shouldContain "it is a program of perftest: give --perftest"
                client.status shouldBe 1
            }
        }

        for (way in listOf("", " --poll")) {
            test("should refuse a peer whose memory is shorter than the messages: write-bw$way") {
                ServerSocket(0, 1, InetAddress.getByName("127.0.0.1")).use { server ->
                    val peer = CompletableFuture.supplyAsync { server.accept().use { answerWithShortMemory(it) } }
                    val said = perf("write-bw$way --warm-up 0 --timeout 20 127.0.0.1:${server.localPort}")
                    peer.get()
                    withClue(said) {
                        said.status shouldBe 1
                        said.err shouldBe "kverbs: the peer has memory of 8 bytes for messages of 65536 bytes\n"
                    }
                }
            }
        }

        val killed =
            listOf("write-lat --poll", "write-lat", "send-lat -e", "send-bw", "read-lat --poll", "write-bw --poll")
        for (test in killed) {
            test("should end soon when the peer is killed, and say so: $test") {
                whileTheyMeasure("$test -D 100000 --warm-up 0 --timeout 30") { server, client ->
                    client.destroyForcibly()
                    failureOf(server) shouldContain "kverbs: "
                }
            }
        }

        for (test in listOf("read-bw -t 2 -D 4", "atomic-lat -D 4 --poll")) {
            test("should end a server after the longest time of the test if its client was stopped: $test") {
                whileTheyMeasure("$test --warm-up 0 --timeout 12") { server, client ->
                    signal("STOP", client)
                    failureOf(server) shouldContain "(the test at its slowest, and --timeout)"
                }
            }
        }

        for (test in listOf("read-lat", "write-bw --poll")) {
            test("should say that a server which was stopped in the middle does not answer: $test") {
                whileTheyMeasure("$test -D 100000 --warm-up 0 --timeout 60") { server, client ->
                    signal("STOP", server)
                    failureOf(client) shouldContain
                        Regex("kverbs: the peer at 127.0.0.1 does not answer any more, after [1-9][0-9]* messages sent")
                }
            }
        }
    })

/** Says what a client says, but that its memory has 8 bytes, until the client leaves. */
private fun answerWithShortMemory(client: Socket) {
    val lines = client.getInputStream().bufferedReader()
    for (line in lines.lineSequence()) {
        val answer = line.replace(Regex("(mem:[0-9a-f]+):[0-9]+:"), "$1:8:")
        client.getOutputStream().write("$answer\n".encodeToByteArray())
    }
}

/** The bar of a client whose messages move: it tells how many have. */
private val isMoving = Regex("[1-9][0-9]*/\\?")

/** Calls [block] with a server and its client, processes of their own, in the middle of the row that they measure. */
private fun whileTheyMeasure(
    test: String,
    block: (server: Process, client: Process) -> Unit,
) {
    val words = "perf $test -p ${freePort()}".split(' ')
    val server = process(words)
    try {
        val output = StringBuilder()
        server.inputReader().use { reader ->
            while (!output.contains("listening at")) output.appendLine(reader.readLine() ?: error("$output"))
            val client = process(words + "127.0.0.1" + "--progress")
            try {
                val bar = StringBuilder()
                val said = client.errorReader()
                while (!isMoving.containsMatchIn(bar)) bar.append(said.read().also { it shouldNotBe -1 }.toChar())
                block(server, client)
            } finally {
                client.destroyForcibly().waitFor()
            }
        }
    } finally {
        server.destroyForcibly().waitFor()
    }
}

/** What a process says that must end soon, with status 1. */
private fun failureOf(process: Process): String {
    withClue("the process must end") { process.waitFor(40, SECONDS) shouldBe true }
    process.exitValue() shouldBe 1
    return process.errorReader().readText()
}
