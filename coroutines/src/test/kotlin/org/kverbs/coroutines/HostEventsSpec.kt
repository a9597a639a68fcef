package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.ROUTE_RESOLVED
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.RC
import java.net.InetSocketAddress
import java.util.concurrent.CountDownLatch
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration

private val ANYWHERE = InetSocketAddress("0.0.0.0", 0)
private val SOON = 10.seconds

private fun addressOf(listener: RdmaListener) = InetSocketAddress("127.0.0.1", listener.address.port)

/** Requests a connection and does not wait for the answer. */
private suspend fun RdmaHost.ask(listener: RdmaListener): ConnectionId {
    val address = addressOf(listener)
    val steps = newId(PortSpace.TCP)
    steps.id.resolveAddress(address, SOON.toJavaDuration())
    steps.await(ConnectionStep.RESOLVE_ADDRESS, address, SOON, ADDR_RESOLVED)
    steps.id.resolveRoute(SOON.toJavaDuration())
    steps.await(ConnectionStep.RESOLVE_ROUTE, address, SOON, ROUTE_RESOLVED)
    val node = node(steps.id)
    val qp = node.dispatcher.qp(node.pd, RC).queuePair
    steps.id.prepare(qp, QueuePairState.INIT)
    steps.id.connect(qp, ConnectionParameters.DEFAULTS)
    return steps.id
}

/** Holds a host's event thread: an unconfined coroutine runs on the thread that resumes it. */
private class HeldEvents {
    val begun = CompletableDeferred<Unit>()
    private val over = CountDownLatch(1)

    suspend fun hold(listener: RdmaListener) {
        val request = listener.awaitRequest()
        val thread = Thread.currentThread().name.substringBefore(' ') // the rest of the name names the coroutine
        check(thread == "kverbs-connections") { "$thread is held, which takes no events" }
        begun.complete(Unit)
        over.await()
        request.reject()
    }

    fun end() = over.countDown()
}

class HostEventsSpec :
    FunSpec({
        timeout = 60_000

        test(
            "should serve the next client after a request that could be neither queued nor rejected",
        ) {
            val hosts = List(3) { rdmaHost { provider("embedded") } }
            val (server, client, other) = hosts
            val held = HeldEvents()
            try {
                val full = server.listen(ANYWHERE, backlog = 1)
                val holding = server.listen(ANYWHERE)
                val meanwhile = other.listen(ANYWHERE)
                coroutineScope {
                    val holder = launch(Dispatchers.Unconfined) { held.hold(holding) }
                    val first = client.ask(full)
                    client.ask(holding)
                    held.begun.await() // requests come in order, so the first has arrived and fills the backlog
                    client.ask(full).close()
                    client.ask(meanwhile)
                    meanwhile.awaitRequest().reject() // so the one before it has arrived and is gone
                    held.end()
                    holder.join()
                    client.ask(holding)
                    holding.awaitRequest().reject() // so the host has found the backlog full and the peer gone
                    full.awaitRequest().reject()
                    first.close()

                    val served = async(start = CoroutineStart.UNDISPATCHED) { full.accept().use { it.awaitEnd() } }
                    client.connect(addressOf(full)) { timeout(SOON) }.disconnect()
                    served.await()
                }
            } finally {
                held.end()
                hosts.forEach { it.close() }
            }
        }

        test("should serve the next client after an accept that threw") {
            rdmaHost { provider("embedded") }.use { server ->
                rdmaHost { provider("embedded") }.use { client ->
                    val listener = server.listen(ANYWHERE)
                    coroutineScope {
                        val failed = async { runCatching { listener.accept { prepared { error("no receives") } } } }
                        runCatching { client.connect(addressOf(listener)) { timeout(SOON) } }.isFailure shouldBe true
                        failed.await().exceptionOrNull()?.message shouldBe "no receives"
                        val served =
                            async(start = CoroutineStart.UNDISPATCHED) { listener.accept().use { it.awaitEnd() } }
                        client.connect(addressOf(listener)) { timeout(SOON) }.disconnect()
                        served.await()
                    }
                }
            }
        }
    })
