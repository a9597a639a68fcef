package org.kverbs.cli.pingpong

import org.kverbs.DeviceNotFoundException
import org.kverbs.RdmaException
import org.kverbs.attributes.QueuePairType
import java.io.File
import java.lang.management.ManagementFactory
import java.nio.file.Path
import java.util.concurrent.CountDownLatch
import java.util.concurrent.FutureTask
import java.util.concurrent.TimeUnit.MILLISECONDS
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Starts this program again as the server of a ping-pong over UDP, on a loopback address of its own. The server ends
 * with this process, however this process ends, because the server's standard input ends then.
 */
internal class ServerProcess(
    private val options: PingPongOptions,
) : AutoCloseable {
    /** Two neighbouring random addresses far from 127.0.0.1, so that no other ping-pong has them. */
    private val clientAddress = "127.${Random.nextInt(128, 255)}.${Random.nextInt(256)}.${2 * Random.nextInt(1, 127)}"
    private val address =
        clientAddress.substringBeforeLast('.') + "." + (clientAddress.substringAfterLast('.').toInt() + 1)
    private val process = ProcessBuilder(program() + arguments()).start()
    private val listening = CountDownLatch(1)
    private val errors = beside { process.errorReader().readText() }

    init {
        beside {
            process.inputReader().forEachLine { if (it.startsWith(PingPong.LISTENING)) listening.countDown() }
            listening.countDown() // the server has ended; its errors say why
        }
    }

    /** The options of the client. */
    val clientOptions = options.copy(transport = Transport.Udp(clientAddress), peer = Peer.Server(address))

    /** Runs the client when the server is there, and waits for the server's end. */
    fun <T> play(client: () -> T): T {
        listening.await(options.timeout.inWholeMilliseconds, MILLISECONDS)
        // Without the alarm a client waits for the whole timeout if its server is dead.
        val alarm = Alarm(Thread.currentThread())
        beside { if (process.waitFor() != 0) alarm.ring() }
        return try {
            alarm.use { client().also { awaitEnd() } }
        } catch (e: DeviceNotFoundException) {
            throw e
        } catch (e: RdmaException) {
            throw if (hasFailed(WHO_FAILED_FIRST)) failure(e) else e
        } catch (e: InterruptedException) {
            throw if (hasFailed(Duration.ZERO)) failure(null) else e
        }
    }

    private fun awaitEnd() {
        if (!process.waitFor(options.timeout.inWholeMilliseconds, MILLISECONDS)) {
            throw PingPongException("the server's process did not end within ${options.timeout} (--timeout)")
        }
        if (process.exitValue() != 0) throw failure(null)
    }

    private fun hasFailed(within: Duration) =
        process.waitFor(within.inWholeMilliseconds, MILLISECONDS) && process.exitValue() != 0

    private fun failure(ours: RdmaException?): ServerProcessException {
        val said = errors.get().lines().filter { it.isNotBlank() }.joinToString(" ") { it.removePrefix("kverbs: ") }
        val theirs = said.ifEmpty { "it said nothing" }
        val here = if (ours == null) "" else "; and the client's: ${ours.message}"
        return ServerProcessException(
            process.exitValue(),
            "the server's process ended with exit status ${process.exitValue()}: $theirs$here",
        )
    }

    private fun arguments(): List<String> {
        val values =
            mapOf(
                "--transport" to Transport.Udp(address).words,
                "--type" to options.type.name.lowercase(),
                "--ib-port" to options.devicePort,
                "--size" to options.size,
                "--mtu" to options.mtu.bytes().takeIf { options.type != QueuePairType.UD },
                "--rx-depth" to options.receiveDepth,
                "--iters" to options.iterations,
                "--warm-up" to options.warmUp,
                "--sl" to options.serviceLevel,
                "--gid-idx" to options.gidIndex,
                "--timeout" to options.timeout.inWholeSeconds,
            )
        val flags = listOfNotNull("--listen", UNTIL_INPUT_ENDS, waiting(), "--chk".takeIf { options.check })
        return listOf("pingpong") + flags +
            values.filterValues { it != null }.flatMap { (name, value) -> listOf(name, "$value") }
    }

    private fun waiting() =
        when (options.waiting) {
            Waiting.SUSPENDED -> null
            Waiting.EVENTS -> "--events"
            Waiting.ADAPTIVE -> "--adaptive"
            Waiting.POLLED -> "--poll"
        }

    /** Ends the process, if it has not ended. */
    override fun close() {
        process.destroyForcibly().waitFor()
        process.outputStream.close()
    }

    /** Interrupts a thread, but not once it is closed by that thread, which then is as if it never was interrupted. */
    private class Alarm(
        private val thread: Thread,
    ) : AutoCloseable {
        private var rang = false
        private var closed = false

        @Synchronized
        fun ring() {
            if (closed) return
            rang = true
            thread.interrupt()
        }

        @Synchronized
        override fun close() {
            closed = true
            if (rang) Thread.interrupted()
        }
    }

    companion object {
        /** The option of a server whose user is a [ServerProcess]. */
        const val UNTIL_INPUT_ENDS = "--until-input-ends"

        /**
         * An end that fails takes the other with it, a little later: so long the server gets to say why it was the
         * first.
         */
        private val WHO_FAILED_FIRST = 2.seconds

        private fun <T> beside(task: () -> T) = FutureTask(task).also { Thread.ofPlatform().daemon().start(it) }

        /** The command line of this program: this JVM with its options, but not its agents, which may hold a port. */
        private fun program(): List<String> {
            val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
            val options =
                ManagementFactory.getRuntimeMXBean().inputArguments.filter {
                    it.startsWith("-X") ||
                        it.startsWith("--")
                }
            val classPath = System.getProperty("java.class.path")
            val isJar = classPath.endsWith(".jar") && File.pathSeparator !in classPath
            val code = if (isJar) listOf("-jar", classPath) else listOf("-cp", classPath, "org.kverbs.cli.KverbsKt")
            return listOf(java) + options + code
        }
    }
}
