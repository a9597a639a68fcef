package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.QueuePair
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionEventType.ROUTE_RESOLVED
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.ConnectionTimeoutException
import org.kverbs.cm.RejectReason
import org.kverbs.dsl.RC
import org.kverbs.internal.jfr.FlightRecords
import java.net.InetAddress
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.toJavaDuration

/**
 * Connects to an address, and suspends until the peer has accepted. The host name of an unresolved address
 * ([InetSocketAddress.createUnresolved]) is looked up without blocking the caller's thread; the host's IP addresses are
 * tried one after the other, until a peer answers at one.
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the peer rejects the request, with its reason, or if no program
 *   listens at the port
 * @throws org.kverbs.cm.ConnectionTimeoutException if a step takes longer than [ConnectionBuilder.timeout]
 * @throws org.kverbs.cm.ConnectionException if a step fails in the network; the message names the step and the address.
 *   The exception is that of the last IP address and has those of the others as suppressed exceptions
 */
public suspend fun RdmaHost.connect(
    address: InetSocketAddress,
    settings: ConnectionBuilder.() -> Unit = {},
): RdmaConnection {
    val setUp = ConnectionBuilder().apply(settings).setUp(RC)
    return RdmaConnection(this, establish(address, setUp))
}

/** Connects to a host by name or IP address; otherwise as above. */
public suspend fun RdmaHost.connect(
    host: String,
    port: Int,
    settings: ConnectionBuilder.() -> Unit = {},
// looked up without blocking this thread
): RdmaConnection = connect(InetSocketAddress.createUnresolved(host, port), settings)

/** Connects to the first IP address of the host at which a peer answers. */
internal suspend fun <T> RdmaHost.establish(
    address: InetSocketAddress,
    setUp: SetUp<T>,
): Established<T> {
    val failures = ArrayList<ConnectionException>()
    for (each in lookUp(address, setUp.timeout)) {
        try {
            return establishAt(each, setUp)
        } catch (e: ConnectionException) {
            // it answered, and refuses
            if (e is ConnectionRejectedException && e.reason() == RejectReason.CONSUMER_DEFINED) throw e
            failures += e
        }
    }
    throw failures.removeLast().also { last -> failures.forEach(last::addSuppressed) }
}

private suspend fun <T> RdmaHost.establishAt(
    address: InetSocketAddress,
    setUp: SetUp<T>,
): Established<T> {
    val steps = newId(setUp.portSpace)
    val id = steps.id
    val timeout = setUp.timeout
    val attempt = FlightRecords.beginConnection()
    var made: Established<T>? = null
    var hasAnswered = false
    try {
        id.resolveAddress(address, timeout.toJavaDuration())
        steps.await(ConnectionStep.RESOLVE_ADDRESS, address, timeout, ADDR_RESOLVED)
        id.resolveRoute(timeout.toJavaDuration())
        steps.await(ConnectionStep.RESOLVE_ROUTE, address, timeout, ROUTE_RESOLVED)
        made = Established(steps, node(id), setUp)
        made.prepare()
        val qp = made.queuePair
        if (setUp.portSpace.isDatagram) id.prepareAll(qp)
        id.connect(qp, setUp.parameters(made.node))
        val answer = steps.await(ConnectionStep.CONNECT, address, timeout, CONNECT_RESPONSE, ESTABLISHED)
        made.said = answer
        hasAnswered = true
        if (answer.type() == CONNECT_RESPONSE) {
            id.prepareAll(qp)
            qp.answerSoon()
            id.establish()
        }
        attempt?.established(made.node.context.device().name(), qp.number(), address, true)
        return made
    } catch (e: Throwable) {
        val reason = if (hasAnswered) steps.meaning(e, ConnectionStep.CONNECT, address, GONE) else e
        attempt?.failed(address, true, reason)
        closeAll(id, made, cause = reason)
        throw reason
    }
}

/**
 * Looks up the IP addresses of a host name, on a thread of [Dispatchers.IO]: the system blocks for seconds if no name
 * server answers. A cancelled caller does not wait for the answer.
 */
private suspend fun RdmaHost.lookUp(
    address: InetSocketAddress,
    timeout: Duration,
): List<InetSocketAddress> {
    if (!address.isUnresolved) return listOf(address)
    literal(address.hostString)?.let { return listOf(InetSocketAddress(it, address.port)) }
    val answer = scope.async(Dispatchers.IO) { runCatching { InetAddress.getAllByName(address.hostString) } }
    val found =
        try {
            withTimeoutOrNull(timeout) { answer.await() }
        } catch (e: CancellationException) {
            currentCoroutineContext().ensureActive()
            throw IllegalStateException("the host of these connections was closed", e)
        } ?: throw ConnectionTimeoutException(ConnectionStep.RESOLVE_ADDRESS, address, timeout.toJavaDuration())
    val addresses =
        found.getOrElse {
            val why = "no host has this name: check how it is written, or give an IP address"
            throw ConnectionException(ConnectionStep.RESOLVE_ADDRESS, address, 0, why).initCause(it)
        }
    return addresses.map { InetSocketAddress(it, address.port) }
}

/** Parses a literal IP address without a lookup; null for a host name. */
private fun literal(host: String): InetAddress? =
    try {
        InetAddress.ofLiteral(host)
    } catch (_: IllegalArgumentException) {
        null
    }

/** Moves a queue pair from INIT to RTS. */
internal fun ConnectionId.prepareAll(qp: QueuePair) {
    prepare(qp, QueuePairState.RTR)
    prepare(qp, QueuePairState.RTS)
}

/**
 * Lets a sender that found no receive retry after 0.64 ms. The connection manager sets 655 ms, the longest RNR timer.
 */
internal fun QueuePair.answerSoon() {
    if (state() == QueuePairState.RTS) modify(QueuePairAttributes.builder().minRnrTimer(MIN_RNR_TIMER).build())
}

private const val GONE = "the peer has gone since it answered: it was closed, or the network failed."
private const val MIN_RNR_TIMER = 12
