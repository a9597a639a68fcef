package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueueAttributes
import org.kverbs.ConnectionEvent
import org.kverbs.ConnectionEventChannel
import org.kverbs.ConnectionEventType
import org.kverbs.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.ConnectionEventType.DISCONNECTED
import org.kverbs.ConnectionEventType.ESTABLISHED
import org.kverbs.ConnectionEventType.ROUTE_RESOLVED
import org.kverbs.ConnectionId
import org.kverbs.ConnectionParameters
import org.kverbs.Device
import org.kverbs.PortSpace
import org.kverbs.QueuePairInitAttributes
import org.kverbs.QueuePairState
import org.kverbs.QueuePairType
import org.kverbs.acceptance.contract.CAPABILITIES
import org.kverbs.acceptance.contract.End
import org.kverbs.acceptance.contract.FULL_ACCESS
import java.net.InetAddress
import java.net.InetSocketAddress
import java.time.Duration

/** One end of a connection on the embedded device, made by its connection manager, for a program of rdma-core at the other. */
internal class Connecting(
    type: QueuePairType,
    private val listening: () -> Unit,
) : AutoCloseable {
    private val device = Device.byName("embedded0")
    private val context = device.open()
    val pd = context.protectionDomain()
    private val cq = context.completionQueue(CompletionQueueAttributes(128, null, 0))
    val end = End(pd.queuePair(QueuePairInitAttributes.of(type, cq).with(CAPABILITIES)), cq, pd.memoryRegion(1 shl 16, *FULL_ACCESS))
    private val channel = ConnectionEventChannel.open(device)
    private val space = if (type == QueuePairType.UD) PortSpace.UDP else PortSpace.TCP
    lateinit var id: ConnectionId
        private set

    fun expect(type: ConnectionEventType): ConnectionEvent {
        val event = channel.awaitEvent(WAIT).shouldNotBeNull()
        withClue(event) { event.type() shouldBe type }
        return event
    }

    private fun prepare(vararg states: QueuePairState) = states.forEach { id.prepare(end.qp, it) }

    /** Connects as who asks; [ready] runs when receives can be posted. */
    fun connect(
        to: InetSocketAddress,
        ready: Connecting.() -> Unit,
    ): ConnectionEvent {
        ask(to, ready)
        if (space.isDatagram) {
            val established = expect(ESTABLISHED)
            prepare(QueuePairState.RTR, QueuePairState.RTS)
            return established
        }
        val response = expect(CONNECT_RESPONSE)
        prepare(QueuePairState.RTR, QueuePairState.RTS)
        id.establish()
        return response
    }

    /** Asks and does not wait. */
    fun ask(
        to: InetSocketAddress,
        ready: Connecting.() -> Unit,
    ) {
        id = channel.id(space)
        id.resolveAddress(to, WAIT)
        expect(ADDR_RESOLVED)
        id.resolveRoute(WAIT)
        expect(ROUTE_RESOLVED)
        prepare(QueuePairState.INIT)
        ready()
        id.connect(end.qp, ConnectionParameters.DEFAULTS.withReads(1, 1))
    }

    /** Connects as who is asked; [ready] as above. */
    fun serve(
        port: Int,
        ready: Connecting.() -> Unit,
    ) {
        val listener = channel.id(space)
        listener.bind(InetSocketAddress(port))
        listener.listen(1)
        listening()
        id = expect(CONNECT_REQUEST).id()
        prepare(QueuePairState.INIT)
        ready()
        prepare(QueuePairState.RTR, QueuePairState.RTS)
        id.accept(end.qp, ConnectionParameters.DEFAULTS.withReads(1, 1))
        if (!space.isDatagram) expect(ESTABLISHED)
    }

    /** Waits for the peer to disconnect, and answers. */
    fun awaitDisconnect() {
        expect(DISCONNECTED)
        id.disconnect()
    }

    fun disconnect() {
        id.disconnect()
        expect(DISCONNECTED)
    }

    override fun close() {
        channel.close()
        context.close()
    }

    companion object {
        val WAIT: Duration = Duration.ofSeconds(30)
    }
}
