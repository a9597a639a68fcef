package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.supervisorScope
import org.kverbs.ConnectionParameters
import org.kverbs.Device
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** The hello of a channel stands before the user's private data. */
private const val HELLO = 24
private val LOG: System.Logger = System.getLogger("org.kverbs.coroutines")
private val FAILURES = FailureLog { message, failure -> LOG.log(System.Logger.Level.WARNING, message, failure) }

private fun warn(failure: Throwable) = FAILURES.add("a connection failed", failure)

/**
 * Connects to a server of messages ([serve]), and suspends until it has accepted. The name of an unresolved address is looked up without
 * blocking the caller's thread.
 *
 * @param privateData bytes for the server, at most 32
 * @param timeout for each step: finding the address, the route, and the server's answer
 * @throws org.kverbs.ConnectionRejectedException if the server says no, or nobody listens
 * @throws org.kverbs.ConnectionException if the network can't; names the step and the address
 * @throws ChannelProtocolException if it is a server of something else
 */
public suspend fun RdmaHost.connectMessages(
    address: InetSocketAddress,
    privateData: ByteArray = ByteArray(0),
    timeout: Duration = 10.seconds,
    settings: MessageChannelSettings.() -> Unit = {},
): MessageConnection {
    lateinit var channel: MessageChannel
    val hello = MessageChannelSettings().apply(settings).hello()
    val made =
        establish(address, ConnectionParameters.DEFAULTS.withPrivateData(hello + privateData), timeout, { channel.prepare() }) { node ->
            channel = node.dispatcher.messageChannel(node.pd, settings)
            channel.queuePair.queuePair
        }
    return started(made.steps, made.node, channel, made.answer.privateData())
}

/** Connects to a server of messages by its host's name or IP address; errors as above. */
public suspend fun RdmaHost.connectMessages(
    host: String,
    port: Int,
    privateData: ByteArray = ByteArray(0),
    timeout: Duration = 10.seconds,
    settings: MessageChannelSettings.() -> Unit = {},
): MessageConnection = connectMessages(InetSocketAddress.createUnresolved(host, port), privateData, timeout, settings)

/** Accepts a request that [connectMessages] made; errors as [ConnectionRequest.accept], and [ChannelProtocolException] if something else did. */
public suspend fun ConnectionRequest.acceptMessages(
    privateData: ByteArray = ByteArray(0),
    timeout: Duration = 10.seconds,
    settings: MessageChannelSettings.() -> Unit = {},
): MessageConnection {
    try {
        ChannelHello.parse(this.privateData)
    } catch (e: ChannelProtocolException) {
        rejectQuietly()
        throw e
    }
    lateinit var channel: MessageChannel
    val hello = MessageChannelSettings().apply(settings).hello()
    val node =
        establish(ConnectionParameters.DEFAULTS.withPrivateData(hello + privateData), timeout, { channel.prepare() }) { node ->
            channel = node.dispatcher.messageChannel(node.pd, settings)
            channel.queuePair.queuePair
        }
    return host.started(steps, node, channel, this.privateData)
}

private fun RdmaHost.started(
    steps: ConnectionSteps,
    node: RdmaNode,
    channel: MessageChannel,
    peerData: ByteArray,
): MessageConnection {
    try {
        channel.start(peerData)
        return MessageConnection(this, steps, node, channel, peerData.copyOfRange(minOf(HELLO, peerData.size), peerData.size))
    } catch (e: RuntimeException) {
        closeAll(steps.id, channel, cause = e)
        throw e
    }
}

/**
 * Serves messages at an address until it is cancelled: [handler] runs in a coroutine of its own for each connection.
 * When it returns the connection is finished and closed; when it throws, that connection is closed and the others live
 * on, and [onFailure] is told, as it is of peers that go before they are connected.
 *
 * @param address a wildcard takes connections at every address; port 0 is a free one
 * @param onListening told the address with its port once connections are taken
 * @param onFailure default writes to the [System.Logger] `org.kverbs.coroutines`, one failure a second at most and the
 *     number of the others
 * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is taken
 */
public suspend fun RdmaHost.serve(
    address: InetSocketAddress,
    settings: MessageChannelSettings.() -> Unit = {},
    onListening: (InetSocketAddress) -> Unit = {},
    onFailure: (Throwable) -> Unit = ::warn,
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
): Nothing {
    listen(address).use { listener ->
        onListening(listener.address)
        supervisorScope {
            while (true) {
                val request = listener.request()
                launch {
                    try {
                        serveOne(request.acceptMessages(settings = settings), handler)
                    } catch (e: CancellationException) {
                        throw e
                    } catch (e: Exception) {
                        onFailure(e)
                    }
                }
            }
        }
    }
    @Suppress("UNREACHABLE_CODE")
    error("a server ends by an exception only")
}

private suspend fun serveOne(
    connection: MessageConnection,
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
) {
    try {
        coroutineScope { handler(connection) }
        connection.finish()
    } finally {
        connection.close()
    }
}

/**
 * A server in a line, which runs until it is cancelled, on the RDMA hardware of this machine, or else on the embedded device. See [serve].
 *
 * ```
 * fun main(): Unit = runBlocking {
 *     rdmaServer(7471) { connection -> for (message in connection.incoming) connection.send(message) }
 * }
 * ```
 *
 * It never returns, so a function whose body it is names its type, as here, or does not compile.
 *
 * It listens at every address, of IPv4 and IPv6, or with iWARP devices of IPv4 alone.
 *
 * @param device by whose connection manager, if not the usual one
 * @throws org.kverbs.DeviceNotFoundException if there is no such device
 */
public suspend fun rdmaServer(
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
    onFailure: (Throwable) -> Unit = ::warn,
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
): Nothing = hostOf(device).use { it.serve(it.everywhere(port), onListening = onListening, onFailure = onFailure, handler = handler) }

private fun hostOf(device: String?) = rdmaHost { if (device != null) device(Device.byName(device)) }

/**
 * A client in a line: `rdmaClient("server", 7471) { connection -> connection.send(bytes) }`. Finishes and closes the connection after the
 * block.
 *
 * @param host a name or an IP address; a name is looked up without blocking the caller's thread
 * @param device as for [rdmaServer]
 * @throws org.kverbs.ConnectionException if no host has this name, and as [connectMessages] does
 */
public suspend fun <R> rdmaClient(
    host: String,
    port: Int,
    device: String? = null,
    block: suspend CoroutineScope.(MessageConnection) -> R,
): R =
    hostOf(device).use { rdma ->
        val connection = rdma.connectMessages(host, port)
        try {
            coroutineScope { block(connection) }.also { connection.finish() }
        } finally {
            connection.close()
        }
    }
