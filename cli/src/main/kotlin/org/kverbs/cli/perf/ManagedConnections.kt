package org.kverbs.cli.perf

import org.kverbs.Context
import org.kverbs.QueuePair
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.cm.SynchronousConnectionId
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.NetworkInterface
import kotlin.time.toJavaDuration

/**
 * Connects the queue pairs of both ends by rdma_cm, one after the other. The server listens at an address of its device
 * and tells it by TCP. Closing this ends the connections.
 *
 * @param leads true for the client
 */
internal class ManagedConnections(
    private val device: Context,
    private val options: PerfOptions,
    private val wire: Wire,
    private val leads: Boolean,
) : AutoCloseable {
    private val timeout = options.timeout.toJavaDuration()
    private val connections = mutableListOf<SynchronousConnectionId>()

    fun connect(
        queuePairs: List<QueuePair>,
        reads: Int,
    ) {
        val parameters = ConnectionParameters.DEFAULTS.withReads(reads, reads).withRetries(RETRIES, RETRIES)
        if (leads) call(queuePairs, parameters) else answer(queuePairs, parameters)
    }

    private fun call(
        queuePairs: List<QueuePair>,
        parameters: ConnectionParameters,
    ) {
        val server = parse(wire.readLine())
        for (qp in queuePairs) {
            val id = open()
            id.resolveAddress(InetSocketAddress(addressOf(device), 0), server, timeout)
            id.resolveRoute(timeout)
            id.id().prepare(qp, QueuePairState.INIT)
            id.connect(qp, parameters, timeout)
        }
    }

    private fun parse(place: String): InetSocketAddress =
        try {
            val (word, address, port) = place.split(' ')
            require(word == PLACE) { "it begins with another word" }
            InetSocketAddress(InetAddress.ofLiteral(address), port.toInt())
        } catch (e: RuntimeException) {
            throw PerfException("the server told no address of its connection manager", e)
        }

    private fun answer(
        queuePairs: List<QueuePair>,
        parameters: ConnectionParameters,
    ) {
        SynchronousConnectionId.open(device.device(), PortSpace.TCP).use { listener ->
            listener.id().bind(InetSocketAddress(addressOf(device), 0))
            listener.id().listen(queuePairs.size)
            val place = checkNotNull(listener.id().localAddress()) { "a bound id has an address" }
            wire.writeLine("$PLACE ${place.address.hostAddress} ${place.port}")
            for (qp in queuePairs) {
                val id = listener.awaitRequest(timeout).also { connections += it }
                id.id().prepare(qp, QueuePairState.INIT)
                id.accept(qp, parameters, timeout)
            }
        }
    }

    private fun open() = SynchronousConnectionId.open(device.device(), PortSpace.TCP).also { connections += it }

    /** The IP address in the device's GID; where it has none, as with iWARP, that of the TCP connection. */
    private fun addressOf(device: Context): InetAddress {
        val index = options.gidIndex ?: device.defaultGidIndex(options.devicePort)
        val address = InetAddress.getByAddress(device.queryGid(options.devicePort, index).bytes())
        val isOurs = device.device().provider() == "embedded" || NetworkInterface.getByInetAddress(address) != null
        return if (isOurs) address else wire.localAddress
    }

    override fun close() {
        val failures = connections.mapNotNull { runCatching { it.close() }.exceptionOrNull() }
        failures.firstOrNull()?.let { throw it }
    }

    private companion object {
        const val PLACE = "cm"
        const val RETRIES = 7
    }
}
