package org.kverbs.ibtool.reference

import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.fabric
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.discover
import org.kverbs.management.transport.IbsimTransport
import java.net.DatagramSocket
import java.net.InetSocketAddress
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.concurrent.thread
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.deleteRecursively
import kotlin.io.path.writeText
import kotlin.random.Random

/**
 * A fabric that ibsim simulates, with opensm. infiniband-diags' programs and ibtool ask it through ibsim's library,
 * each from the node [here].
 */
internal class Ibsim(
    netFile: String,
    private val here: String,
    private val portGuid: Long = here.substringAfter('-').toLong(16) + 1,
) : AutoCloseable {
    private val folder: Path = Files.createTempDirectory("ibtool-ibsim")
    private val port = freePorts()
    private val processes = ArrayList<Process>()
    private val ended = Semaphore(0)
    private val programs = Preloaded(port, here, folder)

    init {
        try {
            start(netFile)
        } catch (e: Throwable) {
            close()
            throw e
        }
    }

    private fun start(netFile: String) {
        val file = folder.resolve("net").also { it.writeText(netFile) }
        val simulator =
            ProcessBuilder(
                "ibsim -r -s -l $port -N 65536 -S 4096 -P 400000 -L 49152 $file".split(' '),
            ).redirectErrorStream(true).start()
        processes += simulator
        val output = simulator.inputReader()
        val lines = generateSequence { output.readLine() }
        check(lines.any { "Network simulator ready" in it }) { "ibsim ended with ${simulator.waitFor()}" }
        thread(isDaemon = true) { runCatching { output.forEachLine { if (END_OF_HELP in it) ended.release() } } }
        check((1..500).any { isAnswering() || pause() }) { "ibsim does not answer at $port" }
        val manager =
            programs.start(
                listOf("opensm", "-s", "0", "-g", "0x${portGuid.toHexString()}", "-f", "$folder/opensm.log"),
            )
        processes += manager
        val said = manager.inputReader()
        check(generateSequence { said.readLine() }.any { "MASTER" in it }) { "opensm ended" }
        thread(isDaemon = true) { runCatching { said.forEachLine { } } }
        check((1..500).any { isUp() || pause() }) { "opensm does not set up the fabric" }
    }

    private fun isAnswering() = runCatching { IbsimTransport.connect(port = port).close() }.isSuccess

    /** Whether opensm has brought all links up: it does so last. */
    private fun isUp(): Boolean =
        runBlocking {
            fabric(IbsimTransport.connect(port = port, node = here)).use { fabric ->
                val links = fabric.discover().links
                links.isNotEmpty() && links.all { link -> link.ends.all { it.state == PortState.ACTIVE } }
            }
        }

    private fun pause(): Boolean {
        Thread.sleep(20)
        return false
    }

    /** Types commands at ibsim's console, and waits until opensm has done what it does about them. */
    fun console(commands: List<String>) {
        processes.first().outputWriter().apply {
            // Its list of commands is what shows that it has come so far.
            (commands + "Help").forEach { write("$it\n") }
            flush()
        }
        check(ended.tryAcquire(10, SECONDS)) { "ibsim does not carry out $commands" }
        var last = ""
        var same = 0
        while (same < SETTLED) {
            val tables = programs.reference("dump_fts").text
            same = if (tables == last) same + 1 else 0
            last = tables
            Thread.sleep(PAUSE)
        }
    }

    /** Runs a program of infiniband-diags. */
    fun reference(vararg command: String): Answer = programs.reference(*command)

    /** Runs the same command of ibtool. */
    fun ibtool(vararg command: String): Answer = programs.ibtool(*command)

    /** What the programs have printed to standard error so far. */
    fun errors(): String = programs.errors()

    @OptIn(ExperimentalPathApi::class)
    override fun close() {
        programs.close()
        for (process in processes.reversed()) {
            process.destroy()
            check(process.waitFor(10, SECONDS)) { "$process does not end" }
        }
        folder.deleteRecursively()
    }

    companion object {
        private const val PORTS = 11
        private const val END_OF_HELP = "Help/?"
        private const val SETTLED = 3
        private const val PAUSE = 300L

        /** The library that stands in for the kernel; empty where it is not installed. */
        val preload: String by lazy {
            Files.walk(Path.of("/usr/lib")).use { files ->
                files
                    .filter { it.fileName.toString() == "libumad2sim.so" }
                    .findFirst()
                    .map(Path::toString)
                    .orElse("")
            }
        }

        /**
         * Below the ports that Linux hands out by itself: a socket of the client that asks whether ibsim answers could
         * get one of ibsim's, which ends then.
         */
        private fun freePorts(): Int =
            generateSequence { Random.nextInt(10_000, 32_000) }
                .take(100)
                .first { first -> (first until first + PORTS).all(::isFree) }

        private fun isFree(port: Int) =
            runCatching { DatagramSocket(null).use { it.bind(InetSocketAddress(port)) } }.isSuccess
    }
}
