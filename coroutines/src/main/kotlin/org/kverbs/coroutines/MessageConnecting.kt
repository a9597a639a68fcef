package org.kverbs.coroutines

import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Connects to a server of messages ([bind]), and suspends until it has accepted. The name of an unresolved address is
 * looked up without blocking the caller's thread; its IP addresses are tried one after the other, until somebody
 * answers at one.
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the server says no, or nobody listens
 * @throws org.kverbs.cm.ConnectionException if the network can't; names the step and the address
 * @throws ChannelProtocolException if it is a server of something else
 */
public suspend fun RdmaHost.connectMessages(
    address: InetSocketAddress,
    settings: ClientBuilder.() -> Unit = {},
): MessageConnection = started(establish(address, ClientBuilder().apply(settings).setUp(this)), hasAsked = true)

/** Connects to a server of messages by its host's name or IP address; errors as above. */
public suspend fun RdmaHost.connectMessages(
    host: String,
    port: Int,
    settings: ClientBuilder.() -> Unit = {},
): MessageConnection = connectMessages(InetSocketAddress.createUnresolved(host, port), settings)

/**
 * Accepts a request that [connectMessages] made; errors as [ConnectionRequest.accept], and [ChannelProtocolException]
 * if something else did.
 */
public suspend fun ConnectionRequest.acceptMessages(
    privateData: ByteArray = ByteArray(0),
    timeout: Duration = 10.seconds,
    settings: MessageChannelBuilder.() -> Unit = {},
): MessageConnection {
    requireHello()
    return acceptMessages(host.channelSetUp(privateData, timeout, isShared = false, settings))
}

/** Rejects a request of something else than a message channel. */
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
    } catch (e: RuntimeException) {
        closeAll(made.steps.id, made.value, made, cause = e)
        throw e
    }
}
