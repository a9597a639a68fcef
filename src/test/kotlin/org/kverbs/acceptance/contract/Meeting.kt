package org.kverbs.acceptance.contract

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePair
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.TransportType
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionEventType.ROUTE_RESOLVED
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import java.net.Inet4Address
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.NetworkInterface
import java.time.Duration

internal val STEP_TIMEOUT: Duration = Duration.ofSeconds(5)
private val EVENT_TIMEOUT = Duration.ofSeconds(20)

/** The IP address by which the connection manager finds the device: an IPv4 address if it has one. */
internal val Bench.ip: String
    get() =
        if (device.netdev.isEmpty()) {
            val gid = context.queryGid(PORT, context.defaultGidIndex(PORT))
            gid.toInetAddress().hostAddress
        } else {
            addressOf<Inet4Address>(device.netdev).hostAddress
        }

/** The same address as messages show it, before a port. */
internal val Bench.shownIp: String get() = if (device.isIpv6) "[$ip]" else ip

/** Returns the first address of a kind of a network device of the system. */
internal inline fun <reified A : InetAddress> addressOf(netdev: String): A =
    NetworkInterface
        .getByName(netdev)
        .inetAddresses
        .asSequence()
        .filterIsInstance<A>()
        .first()

/**
 * Whether connections are made by TCP: then rejections have no reasons, and nobody establishes or answers anything
 * explicitly.
 */
internal val Bench.isIwarp: Boolean get() = context.device().transportType() == TransportType.IWARP

internal fun Bench.at(port: Int) = InetSocketAddress(ip, port)

/**
 * Returns the private data of a peer's message: with the full length of the message on InfiniBand, with the given
 * length on iWARP.
 */
internal fun ConnectionEvent.words(): String = privateData().decodeToString().trimEnd('\u0000')

/** Returns the next event, which must have this type. */
internal fun ConnectionEventChannel.expect(type: ConnectionEventType): ConnectionEvent {
    val event = checkNotNull(awaitEvent(EVENT_TIMEOUT)) { "no $type within $EVENT_TIMEOUT" }
    withClue(event) { event.orThrow().type() shouldBe type }
    return event
}

/** Returns the next event, which may be an error. */
internal fun ConnectionEventChannel.next(): ConnectionEvent =
    checkNotNull(awaitEvent(EVENT_TIMEOUT)) {
        "no event within $EVENT_TIMEOUT"
    }

internal fun QueuePair.prepare(
    id: ConnectionId,
    vararg states: QueuePairState,
) = states.forEach { id.prepare(this, it) }

/** Makes an id that listens on a free port of the device. */
internal fun Bench.listener(
    channel: ConnectionEventChannel,
    space: PortSpace = PortSpace.TCP,
    local: InetSocketAddress = at(0),
): ConnectionId =
    channel.id(space).apply {
        bind(local)
        listen(16)
    }

/** Resolves an id to an address. */
internal fun ConnectionEventChannel.resolved(
    to: InetSocketAddress,
    space: PortSpace = PortSpace.TCP,
): ConnectionId =
    id(space).also {
        it.resolveAddress(to, STEP_TIMEOUT)
        expect(ADDR_RESOLVED).id() shouldBe it
        it.resolveRoute(STEP_TIMEOUT)
        expect(ROUTE_RESOLVED).id() shouldBe it
    }

internal fun words(text: String): ConnectionParameters =
    ConnectionParameters.DEFAULTS.withPrivateData(text.encodeToByteArray())

/** Two ends in this process that were connected by the connection manager, on one thread. */
internal class Meeting(
    val client: ConnectionId,
    val server: ConnectionId,
    val request: ConnectionEvent,
    val answer: ConnectionEvent,
    val a: End,
    val b: End,
)

/** Connects two queue pairs of the device over one of its IP addresses. */
internal fun Bench.meet(
    clients: ConnectionEventChannel,
    servers: ConnectionEventChannel,
    local: InetSocketAddress = at(0),
): Meeting {
    val (a, b) = end() to end()
    val client = clients.resolved(checkNotNull(listener(servers, local = local).localAddress()))
    a.qp.prepare(client, INIT)
    client.connect(a.qp, words("from the client"))
    val request = servers.expect(CONNECT_REQUEST)
    val server = request.id()
    b.qp.prepare(server, INIT)
    b.qp.postReceive(1, b.mr.slice())
    b.qp.prepare(server, RTR, RTS)
    server.accept(b.qp, words("from the server"))
    val answer = clients.next().orThrow()
    if (answer.type() == CONNECT_RESPONSE) { // iWARP has none
        a.qp.prepare(client, RTR, RTS)
        client.establish()
    } else {
        answer.type() shouldBe ESTABLISHED
    }
    servers.expect(ESTABLISHED).id() shouldBe server
    return Meeting(client, server, request, answer, a, b)
}

internal fun Bench.channel(): ConnectionEventChannel = ConnectionEventChannel.open(context.device())

/** Runs [body] with a channel for each end. */
internal fun Bench.channels(body: (clients: ConnectionEventChannel, servers: ConnectionEventChannel) -> Unit) =
    channel().use { clients -> channel().use { servers -> body(clients, servers) } }
