package org.kverbs.blocking

import org.kverbs.coroutines.ClientBuilder
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.blocking
import org.kverbs.coroutines.connectMessages
import java.net.InetSocketAddress
import java.time.Duration
import kotlin.time.toKotlinDuration

/**
 * Configures a [BlockingConnection] to a server; returned by [BlockingHost.client]. The defaults are those of
 * [ClientBuilder]. One thread at a time can call.
 */
public class BlockingClientBuilder internal constructor(
    private val host: RdmaHost,
) {
    private val settings = Settings(::ClientBuilder)

    /** Sets bytes that the server sees before it accepts, at most 32. */
    public fun privateData(bytes: ByteArray): BlockingClientBuilder = with { privateData(bytes) }

    /** Limits the time of each step: to find the address, to find the route, and for the server's answer. */
    public fun timeout(step: Duration): BlockingClientBuilder = with { timeout(step.toKotlinDuration()) }

    /**
     * Sets the longest message that the server can send, in bytes. A server that announces a longer message loses the
     * connection.
     */
    public fun maxMessageSize(bytes: Long): BlockingClientBuilder = with { maxMessageSize(bytes) }

    /** Sets the time without anything from the server after which the client probes it; null for never. */
    public fun keepAlive(interval: Duration?): BlockingClientBuilder = with { keepAlive(interval?.toKotlinDuration()) }

    private fun with(setting: ClientBuilder.() -> Unit): BlockingClientBuilder = apply { settings.add(setting) }

    /**
     * Connects to a message server by host name or IP address, and waits until the server has accepted.
     *
     * @throws org.kverbs.cm.ConnectionRejectedException if the server rejects the client, or no program listens at the
     *   port
     * @throws org.kverbs.cm.ConnectionException if a step fails in the network; the message names the step and the
     *   address
     * @throws InterruptedException if the thread is interrupted; the attempt is undone then
     */
    @Throws(InterruptedException::class)
    public fun connect(
        host: String,
        port: Int,
    ): BlockingConnection = connect(InetSocketAddress.createUnresolved(host, port))

    /** Connects to a message server by its address; otherwise as above. */
    @Throws(InterruptedException::class)
    public fun connect(address: InetSocketAddress): BlockingConnection =
        BlockingConnection(blocking { host.connectMessages(address, settings) })
}
