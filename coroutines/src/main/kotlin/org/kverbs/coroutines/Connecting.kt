package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.ConnectionEvent
import org.kverbs.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.ConnectionEventType.ESTABLISHED
import org.kverbs.ConnectionEventType.ROUTE_RESOLVED
import org.kverbs.ConnectionException
import org.kverbs.ConnectionId
import org.kverbs.ConnectionParameters
import org.kverbs.ConnectionStep
import org.kverbs.ConnectionTimeoutException
import org.kverbs.PortSpace
import org.kverbs.QueuePair
import org.kverbs.QueuePairAttributes
import org.kverbs.QueuePairState
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import java.net.InetAddress
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.toJavaDuration

/**
 * Connects to an address, and suspends until the other side has accepted. The name of an unresolved address
 * ([InetSocketAddress.createUnresolved]) is looked up without blocking the caller's thread.
 *
 * @throws org.kverbs.ConnectionRejectedException if the other side says no, with what it says; nobody listening is one too
 * @throws org.kverbs.ConnectionTimeoutException if a step takes longer than [ConnectionSettings.timeout]
 * @throws org.kverbs.ConnectionException if the network can't; names the step and the address
 */
public suspend fun RdmaHost.connect(
    address: InetSocketAddress,
    settings: ConnectionSettings.() -> Unit = {},
): RdmaConnection {
    val chosen = ConnectionSettings().apply(settings)
    lateinit var qp: AsyncQueuePair<RcVerbs>
    val made =
        establish(address, chosen.parameters(), chosen.timeout, { chosen.prepared(qp) }) { node ->
            qp = node.dispatcher.qp(node.pd, RC, block = chosen.queuePair)
            qp.queuePair
        }
    return RdmaConnection(this, made.steps, made.node, qp, made.answer.privateData())
}

/** Connects to a host by its name or IP address; errors as above. */
public suspend fun RdmaHost.connect(
    host: String,
    port: Int,
    settings: ConnectionSettings.() -> Unit = {},
): RdmaConnection = connect(InetSocketAddress.createUnresolved(host, port), settings) // looked up without blocking this thread

/** A connection that is up: its id, the device it is on, and what the other side answered. */
internal class Established(
    val steps: ConnectionSteps,
    val node: RdmaNode,
    val answer: ConnectionEvent,
)

/**
 * Connects a queue pair that [make] makes. [prepared] is called when it can take receives; the other side may send from then on. Closes all
 * that was made if it fails.
 */
internal suspend fun RdmaHost.establish(
    address: InetSocketAddress,
    parameters: ConnectionParameters,
    timeout: Duration,
    prepared: () -> Unit = {},
    portSpace: PortSpace = PortSpace.TCP,
    make: (RdmaNode) -> QueuePair,
): Established {
    val steps = newId(portSpace)
    val id = steps.id
    var qp: QueuePair? = null
    try {
        val resolved = lookUp(address, timeout)
        id.resolveAddress(resolved, timeout.toJavaDuration())
        steps.await(ConnectionStep.RESOLVE_ADDRESS, address, timeout, ADDR_RESOLVED)
        id.resolveRoute(timeout.toJavaDuration())
        steps.await(ConnectionStep.RESOLVE_ROUTE, address, timeout, ROUTE_RESOLVED)
        val node = node(id)
        qp = make(node)
        id.prepare(qp, QueuePairState.INIT)
        prepared()
        if (portSpace.isDatagram) id.prepareAll(qp)
        id.connect(qp, parameters)
        val answer = steps.await(ConnectionStep.CONNECT, address, timeout, CONNECT_RESPONSE, ESTABLISHED)
        if (answer.type() == CONNECT_RESPONSE) {
            id.prepareAll(qp)
            qp.answerSoon()
            id.establish()
        }
        return Established(steps, node, answer)
    } catch (e: Throwable) {
        closeAll(id, qp, cause = e)
        throw e
    }
}

/**
 * The IP address of a host's name, asked of the system on a thread that may block, as the answer takes seconds when no name server
 * answers. Who is cancelled does not wait for it.
 */
private suspend fun RdmaHost.lookUp(
    address: InetSocketAddress,
    timeout: Duration,
): InetSocketAddress {
    if (!address.isUnresolved) return address
    val answer = scope.async(Dispatchers.IO) { runCatching { InetAddress.getByName(address.hostString) } }
    val found =
        try {
            withTimeoutOrNull(timeout) { answer.await() }
        } catch (e: CancellationException) {
            currentCoroutineContext().ensureActive()
            throw IllegalStateException("the host of these connections was closed", e)
        } ?: throw ConnectionTimeoutException(ConnectionStep.RESOLVE_ADDRESS, address, timeout.toJavaDuration())
    val ip =
        found.getOrElse {
            val why = "no host has this name: check how it is written, or give an IP address"
            throw ConnectionException(ConnectionStep.RESOLVE_ADDRESS, address, 0, why).initCause(it)
        }
    return InetSocketAddress(ip, address.port)
}

/** From INIT to where it can send. */
internal fun ConnectionId.prepareAll(qp: QueuePair) {
    prepare(qp, QueuePairState.RTR)
    prepare(qp, QueuePairState.RTS)
}

/** Lets a sender that found no receive try again after 0.64 ms: the connection manager says 655 ms, the longest there is. */
internal fun QueuePair.answerSoon() {
    if (state() == QueuePairState.RTS) modify(QueuePairAttributes.builder().minRnrTimer(MIN_RNR_TIMER).build())
}

private const val MIN_RNR_TIMER = 12
