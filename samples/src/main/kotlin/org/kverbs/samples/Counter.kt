package org.kverbs.samples

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.lang.foreign.Arena
import java.net.InetSocketAddress

/** Lets all clients count in 8 bytes of the server's memory, without the server's processor. */
suspend fun counterServer(
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
): Nothing {
    val counter = Arena.ofAuto().allocate(8, 8)
    rdmaServer(port, device, onListening = onListening) { connection ->
        connection.publish("counter", counter, REMOTE_ATOMIC)
        connection.receiveOrNull() // null once the client has finished
    }
}

/**
 * Counts with [coroutines] coroutines at once, each [times] times, and returns all their numbers. No other client gets
 * one of these numbers.
 */
suspend fun count(
    host: String,
    port: Int,
    coroutines: Int,
    times: Int,
    device: String? = null,
): List<Long> =
    rdmaClient(host, port, device) { connection ->
        val counter = connection.awaitRemote("counter")
        coroutineScope { List(coroutines) { async { List(times) { counter.fetchAndAdd(0, 1) } } }.awaitAll().flatten() }
    }

/** Counts to a thousand with ten coroutines, on the device that the argument names or on the first one. */
fun main(args: Array<String>) =
    both(args.firstOrNull(), { name, onListening -> counterServer(0, name, onListening) }) { host, port, name ->
        val numbers = count(host, port, coroutines = 10, times = 100, name)
        println("$name: ${numbers.size} counted, ${numbers.toSet().size} of them different, up to ${numbers.max()}")
    }
