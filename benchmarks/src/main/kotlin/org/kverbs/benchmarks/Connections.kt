package org.kverbs.benchmarks

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
import org.kverbs.Device
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.rdmaHost
import java.lang.management.ManagementFactory
import java.net.InetSocketAddress
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random

private const val AT_ONCE = 32
private const val REQUESTS = 10_000
private const val WARM_UP = 30_000
private const val KIB = 1024L
private const val REQUEST_BYTES = 64

/** Memory of the server in bytes: all clients together can send ahead more than the default takes. */
private const val MEMORY = 16L shl 30

/** Measures echoes of 64 bytes over one of many connections. Arguments: the number of connections, and the device. */
fun main(arguments: Array<String>) {
    val count = arguments.getOrNull(0)?.toInt() ?: 10_000
    val device = Device.byName(arguments.getOrNull(1) ?: "embedded0")
    rdmaHost { device(device) }.use { server ->
        rdmaHost { device(device) }.use { client -> measure(server, client, device, count) }
    }
}

private fun measure(
    server: RdmaHost,
    client: RdmaHost,
    device: Device,
    count: Int,
) = runBlocking(Dispatchers.Default) {
    server
        .bind(InetSocketAddress(address(device), 0)) {
            maxConnections(count + 1)
            maxHalfOpen(2 * AT_ONCE)
            maxMemory(MEMORY)
            onFailure {} // the clients close without a farewell
        }.use { bound ->
            val serving = bound.serve(this) { for (message in it.incoming) it.send(message) }
            val address = InetSocketAddress(address(device), bound.address.port)
            val one = client.connectMessages(address)
            requests(listOf(one), WARM_UP)
            val alone = requests(listOf(one), REQUESTS)
            val before = Held.now(device)
            val began = System.nanoTime()
            val connections = connect(client, address, count)
            val nanos = System.nanoTime() - began
            val held = Held.now(device)
            println("$count connections in %.1f s, %.0f a second".format(nanos / 1e9, count * 1e9 / nanos))
            println("each end of an idle one: " + held.since(before, 2 * count))
            println("64 bytes there and back, alone:         $alone")
            println("64 bytes there and back, one of %6d: %s".format(count, requests(connections, REQUESTS)))
            println("64 bytes there and back, all at once:   " + all(connections))
            println("each end of one that was used: " + Held.now(device).since(before, 2 * count))
            (connections + one).forEach { it.close() }
            serving.cancelAndJoin()
        }
}

private suspend fun connect(
    client: RdmaHost,
    address: InetSocketAddress,
    count: Int,
): List<MessageConnection> =
    coroutineScope {
        val left = AtomicInteger(count)
        List(AT_ONCE) {
            async { buildList { while (left.getAndDecrement() > 0) add(client.connectMessages(address)) } }
        }.awaitAll().flatten()
    }

/** Makes round trips one after the other, each over a random connection. */
private suspend fun requests(
    connections: List<MessageConnection>,
    count: Int,
): Latencies {
    val random = Random(1)
    val request = ByteArray(REQUEST_BYTES)
    val nanos = LongArray(count)
    repeat(count) {
        val connection = connections[random.nextInt(connections.size)]
        val began = System.nanoTime()
        connection.send(request)
        connection.receive()
        nanos[it] = System.nanoTime() - began
    }
    return Latencies(nanos)
}

/** Makes a round trip over each connection, all at the same time. */
private suspend fun all(connections: List<MessageConnection>): String =
    coroutineScope {
        val began = System.nanoTime()
        connections
            .map {
                async {
                    it.send(ByteArray(REQUEST_BYTES))
                    it.receive()
                }
            }.awaitAll()
        val nanos = System.nanoTime() - began
        "%.0f a second".format(connections.size * 1e9 / nanos)
    }

private class Latencies(
    nanos: LongArray,
) {
    private val sorted = nanos.sortedArray()

    private fun microseconds(part: Double) = sorted[((sorted.size - 1) * part).toInt()] / 1e3

    override fun toString(): String =
        "median %.1f us, 99 of 100 within %.1f us".format(microseconds(0.5), microseconds(0.99))
}

/** Holds the used memory in KiB: reachable objects, and the rest. */
private class Held(
    private val heap: Long,
    private val rest: Long,
) {
    fun since(
        before: Held,
        ends: Int,
    ): String {
        val objects = (heap - before.heap) / 1.0 / ends
        val others = (rest - before.rest) / 1.0 / ends
        return "%.1f KiB: %.1f of objects, %.1f of other memory".format(objects + others, objects, others)
    }

    companion object {
        fun now(device: Device): Held {
            repeat(3) {
                System.gc()
                Thread.sleep(200)
            }
            val heap = ManagementFactory.getMemoryMXBean().heapMemoryUsage.used / KIB
            val isEmbedded = device.provider() == "embedded"
            val rest = if (isEmbedded) field("/proc/self/status", "VmRSS") else -field("/proc/meminfo", "MemAvailable")
            return Held(heap, rest)
        }

        private fun field(
            file: String,
            name: String,
        ) = Files.readAllLines(Path.of(file)).single { it.startsWith("$name:") }.filter(Char::isDigit).toLong()
    }
}

/** Returns an address that leads to the device: that of the lab for Soft-RoCE. */
private fun address(device: Device) = if (device.provider() == "embedded") "127.0.0.1" else "10.99.0.1"
