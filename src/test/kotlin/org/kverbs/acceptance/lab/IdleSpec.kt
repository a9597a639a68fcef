package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.kverbs.acceptance.contract.Bench
import org.kverbs.acceptance.contract.ContractSpec
import org.kverbs.acceptance.contract.FULL_ACCESS
import org.kverbs.acceptance.contract.at
import org.kverbs.acceptance.contract.await
import org.kverbs.coroutines.RdmaConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.WaitStrategy
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.send
import org.kverbs.dsl.get
import java.lang.management.ManagementFactory

/** The processor time that the busy thread must use before the others are compared with it. */
private const val BUSY_NANOS = 300_000_000L

/** The fraction of the busy thread's time that an idle one may use: one in this number. */
private const val SHARE = 30

/** Checks the cost of waiting for completions when none come. */
internal class IdleSpec :
    ContractSpec({
        case(
            "should use almost no processor time without completions, by events and adaptively, and take the first " +
                "one that comes",
        ) {
            val strategies = listOf(WaitStrategy.busy(), WaitStrategy.event(), WaitStrategy.adaptive())
            val hosts = strategies.map { host(it) }
            try {
                runBlocking(Dispatchers.Default) {
                    val all = hosts.map { talkingAlone(it, this) }
                    val busy = all.first()
                    busy.awaitUse(QUIET_NANOS) // in this time the adaptive one goes to sleep
                    val before = all.map { it.used() }
                    busy.awaitUse(BUSY_NANOS)
                    val used = all.zip(before) { thread, then -> thread.used() - then }
                    withClue("ns of busy, event, adaptive: $used") {
                        used.drop(1).forEach {
                            it shouldBeLessThan
                                used.first() / SHARE
                        }
                    }
                    all.forEach { it.exchange() }
                }
            } finally {
                hosts.forEach { it.close() }
            }
        }
    })

private const val QUIET_NANOS = 100_000_000L

private fun Bench.host(strategy: WaitStrategy): RdmaHost =
    rdmaHost {
        device(context.device())
        dispatcher { strategy(strategy) }
    }

/** Both ends of a connection of one host, and the thread that takes their completions. */
private class Ends(
    private val client: RdmaConnection,
    private val server: RdmaConnection,
    private val thread: Long,
) {
    private val from = client.pd.memoryRegion(64, *FULL_ACCESS)
    private val to = server.pd.memoryRegion(64, *FULL_ACCESS)

    suspend fun exchange() {
        val received = server.queuePair.postReceive(to[0, 64])
        client.queuePair.send(from[0, 9])
        received.await().length shouldBe 9
    }

    /** The processor time of the thread, in nanoseconds. */
    fun used(): Long = ManagementFactory.getThreadMXBean().getThreadCpuTime(thread)

    /** Waits until the thread has used this much more. */
    fun awaitUse(nanos: Long) {
        val until = used() + nanos
        await("$nanos ns of a thread that polls") { used() >= until }
    }
}

/** Makes a connection of a host with itself, over which messages have already gone. */
private suspend fun Bench.talkingAlone(
    host: RdmaHost,
    scope: CoroutineScope,
): Ends {
    val listener = host.listen(at(0))
    val accepted = scope.async { listener.accept() }
    val client = host.connect(listener.address)
    val thread = withContext(client.node.dispatcher.coroutineDispatcher) { Thread.currentThread().threadId() }
    return Ends(client, accepted.await(), thread).also { ends -> repeat(10) { ends.exchange() } }
}
