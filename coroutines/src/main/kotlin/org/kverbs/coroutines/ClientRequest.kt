package org.kverbs.coroutines

import java.net.InetSocketAddress

/** Describes a client that requests a connection from an [RdmaServer]; see [ServerBuilder.authorize]. */
public class ClientRequest internal constructor(
    request: ConnectionRequest,
) {
    private val data = request.privateData.let { it.copyOfRange(minOf(ChannelHello.BYTES, it.size), it.size) }

    /** The client's address and port. */
    public val remoteAddress: InetSocketAddress? = request.remoteAddress

    /** The address and port of this machine that the client connects to. */
    public val localAddress: InetSocketAddress? = request.localAddress

    /** The client's [ClientBuilder.privateData], at most 32 bytes; on InfiniBand and RoCE followed by zeros. */
    public val privateData: ByteArray get() = data.clone()

    /** Names the client's address. */
    override fun toString(): String = "request of ${remoteAddress.shown()}"
}
