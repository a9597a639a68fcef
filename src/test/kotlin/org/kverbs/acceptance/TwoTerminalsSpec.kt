package org.kverbs.acceptance

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.shouldBe
import java.io.File
import java.net.BindException
import java.net.DatagramSocket
import java.net.InetAddress
import java.util.concurrent.TimeUnit.MINUTES
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource

private const val ROCE = 4791
private val root = File(System.getProperty("kverbs.root"))

private fun commands(page: File) = page.readLines().filter { it.startsWith("KVERBS_EMBEDDED=udp ./kverbs ") }

/** The commands for two terminals in the documents: a server and its client, line by line. */
class TwoTerminalsSpec :
    FunSpec({
        val pages = listOf(File(root, "README.md")) + File(root, "docs").listFiles { it.extension == "md" }.orEmpty()
        val shown = pages.associateWith { commands(it) }.filterValues { it.isNotEmpty() }

        test("should find commands") {
            shown.keys.map { it.name } shouldContainAll listOf("README.md", "scripts.md")
        }

        for ((page, commands) in shown) {
            test("should run the server and the client of ${page.name}, each in a process of its own") {
                awaitLoopback()
                for ((server, client) in commands.chunked(2)) {
                    Terminal(server).use { terminal ->
                        terminal.awaitLine("listening at port 7471")
                        Terminal(client).use { withClue(client) { it.awaitEnd() shouldBe Outcome(0, "ping\n") } }
                    }
                }
            }
        }
    })

/** The server takes the first loopback address that no other program of this machine has; the pages say 127.0.0.1. */
private fun awaitLoopback() {
    val deadline = TimeSource.Monotonic.markNow() + 1.minutes
    while (true) {
        try {
            return DatagramSocket(ROCE, InetAddress.ofLiteral("127.0.0.1")).close()
        } catch (e: BindException) {
            if (deadline.hasPassedNow()) throw e
            Thread.sleep(100)
        }
    }
}

/** A command that a shell runs in the checkout, for two minutes at most. */
private class Terminal(
    private val command: String,
) : AutoCloseable {
    private val process =
        ProcessBuilder("bash", "-c", command)
            .directory(root)
            .redirectErrorStream(true)
            .apply { environment().putAll(SHORT_KVERBS) }
            .start()
    private val output = StringBuilder()

    init {
        process.onExit().orTimeout(2, MINUTES).exceptionally { process.apply { kill() } }
    }

    fun awaitLine(line: String) {
        for (said in process.inputReader().lineSequence()) {
            output.appendLine(said)
            if (said == line) return
        }
        error("\"$command\" ended without saying \"$line\": $output")
    }

    fun awaitEnd(): Outcome = Outcome(process.waitFor(), process.inputReader().readText())

    override fun close() = kill()

    private fun kill() {
        process.descendants().forEach { it.destroyForcibly() }
        process.destroyForcibly().waitFor()
    }
}
