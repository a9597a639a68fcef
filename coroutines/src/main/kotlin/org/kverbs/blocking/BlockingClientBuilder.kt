package org.kverbs.blocking

import org.kverbs.coroutines.ClientBuilder
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.blocking
import org.kverbs.coroutines.connectMessages
import java.net.InetSocketAddress
import java.time.Duration
import kotlin.time.toKotlinDuration

/**
 * How a [BlockingConnection] to a server is made; made by [BlockingHost.client]. The defaults are those of
 * [ClientBuilder]. One thread.
 */
public class BlockingClientBuilder internal constructor(
    private val host: RdmaHost,
) {
    private val settings = Settings(::ClientBuilder)

    /** Bytes for the server, which sees them before it accepts: at most 32. */
    public fun privateData(bytes: ByteArray): BlockingClientBuilder = with { privateData(bytes) }

    /** How long each step may take: finding the address, the route, and the server's answer. */
    public fun timeout(step: Duration): BlockingClientBuilder = with { timeout(step.toKotlinDuration()) }

    /**
     * Bytes of the longest message that is taken from the server. A server that announces a longer one ends the
     * connection.
     */
    public fun maxMessageSize(bytes: Long): BlockingClientBuilder = with { maxMessageSize(bytes) }

    /** How long nothing may come before the client looks whether the server is still there; null is for ever. */
    public fun keepAlive(interval: Duration?): BlockingClientBuilder = with { keepAlive(interval?.toKotlinDuration()) }

    private fun with(setting: ClientBuilder.() -> Unit): BlockingClientBuilder = apply { settings.add(setting) }

    /**
     * Connects to a server of messages by its name or IP address, and waits until it has accepted.
     *
     * @throws org.kverbs.cm.ConnectionRejectedException if the server says no, or nobody listens
     * @throws org.kverbs.cm.ConnectionException if the network can't; names the step and the address
     * @throws InterruptedException if the thread is interrupted; no connection is left behind
     */
    @Throws(InterruptedException::class)
    public fun connect(
        host: String,
        port: Int,
    ): BlockingConnection = connect(InetSocketAddress.createUnresolved(host, port))

    /** The same by an address. */
    @Throws(InterruptedException::class)
    public fun connect(address: InetSocketAddress): BlockingConnection =
        BlockingConnection(blocking { host.connectMessages(address, settings) })
}
