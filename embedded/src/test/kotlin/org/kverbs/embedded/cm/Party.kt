package org.kverbs.embedded.cm

import io.kotest.assertions.withClue
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.End
import java.net.InetAddress
import java.net.InetSocketAddress
import java.time.Duration

internal const val PORT = 7471

/** Far longer than any step takes on the virtual clock. */
private val LONG: Duration = Duration.ofMinutes(10)

/** One side of a connection: a device with a queue pair and memory, and a channel for the events. */
internal class Party(
    val device: Device,
    type: QueuePairType = QueuePairType.RC,
) : AutoCloseable {
    val end = End(device, type, 1 shl 12)
    val channel: ConnectionEventChannel = ConnectionEventChannel.open(device)

    fun id(portSpace: PortSpace = PortSpace.TCP): ConnectionId = channel.id(portSpace)

    /** Returns the next event, which must have this type. */
    fun expect(type: ConnectionEventType): ConnectionEvent {
        val event = channel.awaitEvent(LONG).shouldNotBeNull()
        withClue(event) { event.type() shouldBe type }
        return event
    }

    /** Tells whether an event waits. */
    fun hasEvent(): Boolean = channel.awaitEvent(Duration.ZERO) != null

    fun listen(
        port: Int = PORT,
        portSpace: PortSpace = PortSpace.TCP,
        backlog: Int = 16,
    ): ConnectionId =
        id(portSpace).also {
            it.bind(InetSocketAddress(port))
            it.listen(backlog)
        }

    /** Makes an id with the route to another party's device resolved. */
    fun resolve(
        address: InetSocketAddress,
        portSpace: PortSpace = PortSpace.TCP,
        from: InetSocketAddress? = null,
    ): ConnectionId {
        val id = id(portSpace)
        from?.let(id::bind)
        id.resolveAddress(address, LONG)
        expect(ConnectionEventType.ADDR_RESOLVED)
        id.resolveRoute(LONG)
        expect(ConnectionEventType.ROUTE_RESOLVED)
        return id
    }

    /** Prepares the queue pair of the passive side, and accepts. */
    fun accept(
        id: ConnectionId,
        parameters: ConnectionParameters = ConnectionParameters.DEFAULTS,
    ) {
        for (state in listOf(QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS)) id.prepare(end.qp, state)
        id.accept(end.qp, parameters)
    }

    /** Continues the active side after the answer. */
    fun establish(id: ConnectionId) {
        for (state in listOf(QueuePairState.RTR, QueuePairState.RTS)) id.prepare(end.qp, state)
        id.establish()
    }

    override fun close() {
        channel.close()
        end.close()
    }
}

/** A fabric with a client and a server. */
internal class Parties(
    val fabric: EmbeddedFabric = EmbeddedFabric.virtual(1),
    type: QueuePairType = QueuePairType.RC,
) : AutoCloseable {
    val client = Party(fabric.addDevice(), type)
    val server = Party(fabric.addDevice(), type)

    operator fun component1() = client

    operator fun component2() = server

    operator fun component3() = fabric

    /** Lets the server listen and the client connect; returns the client's id. */
    fun ask(): ConnectionId {
        server.listen()
        val asking = client.resolve(address())
        asking.prepare(client.end.qp, QueuePairState.INIT)
        asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
        return asking
    }

    /** Runs up to the server's answer; returns the ids of both sides. */
    fun answer(): kotlin.Pair<ConnectionId, ConnectionId> {
        val asking = ask()
        val asked = server.expect(ConnectionEventType.CONNECT_REQUEST).id()
        server.accept(asked)
        client.expect(ConnectionEventType.CONNECT_RESPONSE)
        return asking to asked
    }

    /** Runs up to the client's RTU, which is lost; returns the ids of both sides. */
    fun loseRtu(): kotlin.Pair<ConnectionId, ConnectionId> {
        val ids = answer()
        fabric.partition(client.device, server.device)
        client.establish(ids.first)
        fabric.heal(client.device, server.device)
        return ids
    }

    /** Connects both sides; returns their ids. */
    fun connect(): kotlin.Pair<ConnectionId, ConnectionId> {
        val ids = answer()
        client.establish(ids.first)
        server.expect(ConnectionEventType.ESTABLISHED)
        return ids
    }

    override fun close() {
        client.close()
        server.close()
        fabric.close()
    }

    companion object {
        /** Returns an address of the fabric's n-th device, from 1. */
        fun address(
            number: Int = 2,
            port: Int = PORT,
        ) = InetSocketAddress(InetAddress.ofLiteral("198.18.0.$number"), port)
    }
}

/** Writes 64 bytes from one end's memory to the other's, and checks them there. */
internal fun exchange(
    from: End,
    to: End,
) {
    from.fill(1)
    to.fill(2)
    from.post { write(1, to.mr.memory().address(), to.mr.rkey()).from(from.mr.slice(0, 64)).signaled() }
    from.take(1).single().status() shouldBe WorkCompletionStatus.SUCCESS
    to.bytes(0, 64) shouldBe from.bytes(0, 64)
}
