package org.kverbs.samples

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import org.kverbs.AccessFlag.LOCAL_WRITE
import org.kverbs.AccessFlag.REMOTE_ATOMIC
import org.kverbs.AccessFlag.REMOTE_READ
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.net.InetSocketAddress

/** Lets its clients count in 8 bytes of its memory; its processor has no part in it. */
suspend fun counterServer(
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
): Nothing =
    rdmaServer(port, device, onListening = onListening) { connection ->
        connection.pd.memoryRegion(8, LOCAL_WRITE, REMOTE_READ, REMOTE_ATOMIC).use { region ->
            connection.publish("counter", region)
            for (message in connection.incoming) connection.send(message)
        }
    }

/** Counts with so many coroutines at once, each [times] times. Every one gets numbers that no other gets; the result is all of them. */
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
