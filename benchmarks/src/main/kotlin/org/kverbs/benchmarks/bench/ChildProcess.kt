package org.kverbs.benchmarks.bench

import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.MILLISECONDS

/** A program that this process starts, waits for, and ends with itself. */
internal class ChildProcess(
    private val command: List<String>,
    private val environment: Map<String, String> = emptyMap(),
) {
    /** Starts it. It is ended when this process ends. */
    fun start(): Process =
        ProcessBuilder(command)
            .apply { environment().putAll(environment) }
            .start()
            .also { process ->
                process.outputStream.close()
                val killer = Thread { process.destroyForcibly() }
                Runtime.getRuntime().addShutdownHook(killer)
                process.onExit().thenRun { runCatching { Runtime.getRuntime().removeShutdownHook(killer) } }
            }

    /**
     * Runs it and returns its output.
     *
     * @throws BenchException if it fails, with what it printed last, or if it takes longer than [limit]
     */
    fun output(limit: Duration): String {
        val process = start()
        val out = CompletableFuture.supplyAsync { process.inputReader().readText() }
        val err = CompletableFuture.supplyAsync { process.errorReader().readText() }
        if (!process.waitFor(limit.toMillis(), MILLISECONDS)) {
            process.destroyForcibly().waitFor()
            throw BenchException("${shown()} did not end within ${limit.toSeconds()} s")
        }
        if (process.exitValue() != 0) {
            throw BenchException("${shown()}: exit status ${process.exitValue()}: ${last(err.get() + out.get())}")
        }
        return out.get()
    }

    private fun shown() = (command.take(1) + command.takeLast(2)).joinToString(" ")

    private fun last(text: String) = text.trim().lines().take(LINES).joinToString("\n  ")

    private companion object {
        const val LINES = 12
    }
}
