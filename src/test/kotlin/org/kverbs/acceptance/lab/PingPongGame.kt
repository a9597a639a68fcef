package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.acceptance.contract.DEADLINE
import org.kverbs.acceptance.contract.await
import org.kverbs.attributes.QueuePairType
import org.kverbs.cli.pingpong.PingPongOptions
import org.kverbs.cli.pingpong.Waiting
import kotlin.time.Duration.Companion.seconds

/** The settings that both ends must share; contents are checked. */
internal data class Game(
    val type: QueuePairType,
    val size: Int,
    val iterations: Int,
    val device: String = "rxe0",
) {
    val bytes = 2L * size * iterations

    fun options(waiting: Waiting = Waiting.SUSPENDED) =
        PingPongOptions(
            type = type,
            device = device,
            size = size,
            iterations = iterations,
            waiting = waiting,
            check = true,
            timeout = 10.seconds,
        )

    /** Returns the command of the C program; a server without [server]. */
    fun c(
        port: Int,
        events: Boolean,
        vararg server: String,
    ): CProgram {
        val name = "ibv_${type.name.lowercase()}_pingpong"
        val options = arrayOf("-d", device, "-g", "1", "-p", "$port", "-s", "$size", "-n", "$iterations", "-c")
        return CProgram(name, *options, *(if (events) arrayOf("-e") else emptyArray()), *server)
    }

    override fun toString() = "$type of $size bytes"
}

/** A program that runs beside the test; closing it kills it. */
internal class CProgram(
    vararg command: String,
) : AutoCloseable {
    private val process = ProcessBuilder(*command).redirectErrorStream(true).start()
    private val output = inThread { process.inputReader().readText() }

    val isAlive: Boolean get() = process.isAlive

    /** Waits for the end of the program, and returns its exit status and its output. */
    fun end(): Pair<Int, String> {
        await("the end of ${process.info().commandLine().orElse("a program")}", DEADLINE * 3) { !process.isAlive }
        return process.exitValue() to output.join()
    }

    fun shouldHavePlayed(game: Game) {
        val (status, text) = end()
        withClue(text) {
            status shouldBe 0
            text shouldNotContain "invalid data"
            text shouldContain "${game.bytes} bytes in "
            text shouldContain "${game.iterations} iters in "
        }
    }

    fun kill() {
        process.destroyForcibly()
    }

    override fun close() {
        kill()
        process.waitFor()
    }
}
