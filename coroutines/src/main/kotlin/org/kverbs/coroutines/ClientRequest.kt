package org.kverbs.coroutines

import java.net.InetSocketAddress

/** A client that asks an [RdmaServer] for a connection; see [ServerBuilder.authorize]. */
public class ClientRequest internal constructor(
    request: ConnectionRequest,
) {
    private val data = request.privateData.let { it.copyOfRange(minOf(ChannelHello.BYTES, it.size), it.size) }

    /** The client's address and port. */
    public val remoteAddress: InetSocketAddress? = request.remoteAddress

    /** The address and port of this machine that it asked for. */
    public val localAddress: InetSocketAddress? = request.localAddress

    /**
     * What the client gave along by [ClientBuilder.privateData], at most 32 bytes, with zeros behind it on InfiniBand
     * and RoCE.
     */
    public val privateData: ByteArray get() = data.clone()

    /** Names the client's address. */
    override fun toString(): String = "request of ${remoteAddress.shown()}"
}
