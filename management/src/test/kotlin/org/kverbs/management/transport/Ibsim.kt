package org.kverbs.management.transport

import org.kverbs.management.Tool
import org.kverbs.management.run
import java.net.DatagramSocket
import java.net.InetSocketAddress
import java.nio.file.Files
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.concurrent.thread
import kotlin.random.Random

/** Debian's simulator of InfiniBand fabrics. */
internal val ibsim =
    Tool("ibsim", "run 'apt-get install ibsim-utils', or ./verify, which does.") {
        run(listOf("sh", "-c", "command -v ibsim")).isNotEmpty()
    }

/** Debian's smpquery, which asks ibsim through a library that stands in for the kernel. */
internal val smpquery =
    Tool("smpquery", "run 'apt-get install infiniband-diags ibsim-utils', or ./verify, which does.") {
        preload.isNotEmpty() && run(listOf("sh", "-c", "command -v smpquery")).isNotEmpty()
    }

/** Debian's ibnetdiscover, the same way. */
internal val ibnetdiscover =
    Tool("ibnetdiscover", "run 'apt-get install infiniband-diags ibsim-utils', or ./verify, which does.") {
        preload.isNotEmpty() && run(listOf("sh", "-c", "command -v ibnetdiscover")).isNotEmpty()
    }

/** Debian's subnet manager, the same way. */
internal val opensm =
    Tool("opensm", "run 'apt-get install opensm ibsim-utils', or ./verify, which does.") {
        preload.isNotEmpty() && run(listOf("sh", "-c", "command -v opensm")).isNotEmpty()
    }

/** A running simulator of the fabric in [netFile]. */
internal class Ibsim(
    netFile: String,
    vararg options: String,
) : IbsimPrograms(freePorts()) {
    private val process: Process
    private val ended = Semaphore(0)

    init {
        ibsim.require()
        val file = folder.resolve("net").also { Files.writeString(it, netFile) }
        process =
            ProcessBuilder(
                "ibsim",
                "-r",
                "-s",
                "-l",
                "$port",
                *options,
                "$file",
            ).redirectErrorStream(true).start()
        val output = process.inputReader()
        val lines = generateSequence { output.readLine() }
        check(lines.any { "Network simulator ready" in it }) { "ibsim ended with ${process.waitFor()}" }
        thread(isDaemon = true) { runCatching { output.forEachLine { if (END_OF_HELP in it) ended.release() } } }
        // It says that it is ready before it opens its sockets.
        check((1..500).any { isAnswering() || pause() }) { "ibsim does not answer at $port" }
    }

    /** Types commands at its console, and waits until they are carried out. `Help` lists them. */
    fun console(vararg commands: String) {
        process.outputWriter().apply {
            commands.forEach { write("$it\n") }
            // Its list of commands is what shows that it has come so far.
            write("Help\n")
            flush()
        }
        check(ended.tryAcquire(10, SECONDS)) { "ibsim does not carry out ${commands.asList()}" }
    }

    private fun isAnswering() = runCatching { IbsimTransport.connect(port = port).close() }.isSuccess

    private fun pause(): Boolean {
        Thread.sleep(20)
        return false
    }

    override fun close() {
        process.destroy()
        check(process.waitFor(10, SECONDS)) { "ibsim does not end" }
        super.close()
    }

    private companion object {
        /** The control port, and the ten behind it. */
        private const val PORTS = 11
        private const val END_OF_HELP = "Help/?"

        /**
         * Below the ports that Linux hands out by itself: a socket of the client that asks whether ibsim answers could
         * get one of ibsim's, which ends then.
         */
        fun freePorts(): Int =
            generateSequence { Random.nextInt(10_000, 32_000) }
                .take(100)
                .first { first -> (first until first + PORTS).all(::isFree) }

        private fun isFree(port: Int) =
            runCatching { DatagramSocket(null).use { it.bind(InetSocketAddress(port)) } }.isSuccess
    }
}
