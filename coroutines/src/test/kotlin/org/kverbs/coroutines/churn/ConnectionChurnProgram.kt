package org.kverbs.coroutines.churn

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.attributes.AccessFlag
import org.kverbs.coroutines.ConnectionBuilder
import org.kverbs.coroutines.RdmaConnection
import org.kverbs.coroutines.RdmaNode
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.send
import org.kverbs.dsl.QueuePairSettings
import org.kverbs.dsl.get
import java.net.InetSocketAddress
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/** Connects and disconnects as often as its argument says, and prints the process's holdings after each third. */
object ConnectionChurnProgram {
    @JvmStatic
    fun main(arguments: Array<String>): Unit =
        runBlocking {
            val connections = arguments.single().toInt()
            Churn().use { churn ->
                repeat(3) {
                    churn.connect(connections / 3)
                    delay(SETTLE_MILLIS)
                    println(Holdings.now())
                }
            }
        }

    private const val SETTLE_MILLIS = 1000L
}

/** Two hosts; one connects to the other, several times at once. */
internal class Churn : AutoCloseable {
    private val server = rdmaHost { provider("embedded") }
    private val client = rdmaHost { provider("embedded") }
    private val listener = server.listen(InetSocketAddress("0.0.0.0", 0))
    private val address = InetSocketAddress("127.0.0.1", listener.address.port)
    private val served = AtomicInteger()
    private val memory = ConcurrentHashMap<RdmaNode, MemoryRegion>()

    /** Makes [count] connections and sends one byte over each. */
    suspend fun connect(count: Int) {
        val left = AtomicInteger(count)
        served.set(0)
        withContext(Dispatchers.Default) {
            val serving = launch { coroutineScope { while (true) serve() } }
            coroutineScope { repeat(AT_ONCE) { launch { while (left.getAndDecrement() > 0) connect() } } }
            withTimeoutOrNull(WAIT_MILLIS) { while (served.get() < count) delay(1) }
            serving.cancel()
        }
        check(served.get() == count) { "${served.get()} of $count connections were served to their end" }
    }

    private suspend fun connect() {
        val connection =
            client.connect(address) {
                sharedDomain()
                queuePair { small() }
            }
        connection.queuePair.send(slice(connection))
        connection.disconnect()
    }

    private suspend fun CoroutineScope.serve() {
        val request = listener.awaitRequest()
        launch {
            val settings: ConnectionBuilder.() -> Unit = {
                sharedDomain()
                queuePair { small() }
            }
            request.accept(settings).use {
                check(it.queuePair.receive(slice(it)).length == 1L)
                it.awaitEnd()
            }
            served.incrementAndGet()
        }
    }

    private fun slice(connection: RdmaConnection): MemorySlice =
        memory.computeIfAbsent(connection.node) { it.pd.memoryRegion(8, AccessFlag.LOCAL_WRITE) }[0, 1]

    private fun QueuePairSettings.small() {
        maxSendWr(4)
        maxRecvWr(4)
    }

    override fun close() {
        client.close()
        server.close()
    }

    private companion object {
        const val AT_ONCE = 16
        const val WAIT_MILLIS = 60_000L
    }
}
