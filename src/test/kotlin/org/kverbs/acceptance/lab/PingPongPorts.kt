package org.kverbs.acceptance.lab

import org.kverbs.acceptance.contract.await
import java.io.File
import java.util.concurrent.atomic.AtomicInteger

private val lastPort = AtomicInteger(20_000)

/** Returns a TCP port for one case, below those that Linux gives to outgoing connections. */
internal fun freePort(): Int = lastPort.incrementAndGet()

/**
 * Waits until a program listens at the port, without connecting to it: a C server serves the first client.
 *
 * @param of a process in the network namespace of the port
 */
internal fun awaitListener(
    port: Int,
    of: String = "self",
) {
    await("a listener at TCP port $port") {
        listOf("/proc/$of/net/tcp", "/proc/$of/net/tcp6").any { isListening(it, port) }
    }
}

/** Lines of proc_net_tcp(5): number, local address and port in hexadecimal, remote ones, state, ... */
private fun isListening(
    table: String,
    port: Int,
): Boolean =
    File(table).exists() &&
        File(table).readLines().drop(1).any { line ->
            val (_, local, _, state) = line.trim().split(Regex(" +"))
            state == LISTEN && local.substringAfter(':').toInt(16) == port
        }

private const val LISTEN = "0A"
