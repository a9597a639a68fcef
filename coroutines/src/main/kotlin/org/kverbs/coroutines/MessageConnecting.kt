package org.kverbs.coroutines

import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Connects to a message server ([bind]), and suspends until the server has accepted. The host name of an unresolved
 * address is looked up without blocking the caller's thread; the host's IP addresses are tried one after the other,
 * until a server answers at one.
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the server rejects the client, or no program listens at the port
 * @throws org.kverbs.cm.ConnectionException if a step fails in the network; the message names the step and the address
 * @throws ChannelProtocolException if the program at the address is not a message server
 */
public suspend fun RdmaHost.connectMessages(
    address: InetSocketAddress,
    settings: ClientBuilder.() -> Unit = {},
): MessageConnection = started(establish(address, ClientBuilder().apply(settings).setUp(this)), hasAsked = true)

/** Connects to a message server by host name or IP address; otherwise as above. */
public suspend fun RdmaHost.connectMessages(
    host: String,
    port: Int,
    settings: ClientBuilder.() -> Unit = {},
): MessageConnection = connectMessages(InetSocketAddress.createUnresolved(host, port), settings)

/**
 * Accepts a request of [connectMessages]; errors as [ConnectionRequest.accept].
 *
 * @throws ChannelProtocolException if the request is not one of [connectMessages]; it is rejected then
 */
public suspend fun ConnectionRequest.acceptMessages(
    privateData: ByteArray = ByteArray(0),
    timeout: Duration = 10.seconds,
    settings: MessageChannelBuilder.() -> Unit = {},
): MessageConnection {
    requireHello()
    return acceptMessages(host.channelSetUp(privateData, timeout, isShared = false, settings))
}

/** Rejects a request that is not one of a message channel, and throws. */
internal fun ConnectionRequest.requireHello() {
    try {
        ChannelHello.parse(privateData)
    } catch (e: ChannelProtocolException) {
        rejectQuietly(Rejection.OTHER_PROTOCOL.encode())
        throw e
    }
}

internal suspend fun ConnectionRequest.acceptMessages(setUp: SetUp<MessageChannel>): MessageConnection =
    host.started(establish(setUp), hasAsked = false)

internal fun RdmaHost.started(
    made: Established<MessageChannel>,
    hasAsked: Boolean,
): MessageConnection {
    try {
        made.value.start(made.said.privateData(), Opening.of(made.node.context, hasAsked))
        return MessageConnection(this, made)
    } catch (e: Throwable) {
        closeAll(made.steps.id, made.value, made, cause = e)
        throw e
    }
}
