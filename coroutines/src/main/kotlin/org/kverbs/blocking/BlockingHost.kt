package org.kverbs.blocking

import org.kverbs.Device
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.rdmaHost
import java.net.InetSocketAddress

/**
 * Makes message servers and clients for Java. Each call blocks its thread, which is cheap on virtual threads.
 *
 * ```java
 * try (BlockingHost host = BlockingHost.open();
 *         BlockingServer server = host.serve(7471, connection -> {
 *             for (byte[] message; (message = connection.receiveOrNull()) != null; ) connection.send(message);
 *         });
 *         BlockingConnection client = host.connect("10.0.0.1", 7471)) {
 *     client.send("ping".getBytes());
 *     byte[] answer = client.receive();
 *     client.disconnect();
 * }
 * ```
 *
 * A program in Kotlin uses [RdmaHost].
 *
 * **Threads.** Any thread can call. A wait parks its thread, so that a virtual thread does not hold its carrier. An
 * interrupt ends the wait with an InterruptedException.
 *
 * **Ownership.** [close] closes the host's servers and connections, and ends every wait.
 */
public class BlockingHost private constructor(
    private val host: RdmaHost,
) : AutoCloseable {
    /** Returns a builder for a server with settings: `host.server().maxConnections(100).serve(7471, handler)`. */
    public fun server(): BlockingServerBuilder = BlockingServerBuilder(host)

    /** Serves at a port of every address with the default settings of [BlockingServerBuilder]. */
    public fun serve(
        port: Int,
        handler: ConnectionHandler,
    ): BlockingServer = server().serve(port, handler)

    /**
     * Returns a builder for a connection with settings: `host.client().privateData(token).connect("server", 7471)`.
     */
    public fun client(): BlockingClientBuilder = BlockingClientBuilder(host)

    /**
     * Connects to a server with the default settings of [BlockingClientBuilder]; see [BlockingClientBuilder.connect].
     */
    @Throws(InterruptedException::class)
    public fun connect(
        host: String,
        port: Int,
    ): BlockingConnection = client().connect(host, port)

    /** Connects to a server by its address; otherwise as above. */
    @Throws(InterruptedException::class)
    public fun connect(address: InetSocketAddress): BlockingConnection = client().connect(address)

    /** Closes the host's servers and connections, then its devices. */
    override fun close(): Unit = host.close()

    /** Names the provider of the host's devices. */
    override fun toString(): String = "blocking host on ${host.provider} devices"

    /** Opens hosts. */
    public companion object {
        /**
         * Opens a host on the RDMA hardware of this machine, or without hardware on the embedded device.
         *
         * @throws org.kverbs.DeviceNotFoundException if no device has a connection manager
         * @throws org.kverbs.LibraryUnavailableException if librdmacm is missing; the message names the package to
         *   install
         */
        @JvmStatic
        public fun open(): BlockingHost = BlockingHost(rdmaHost())

        /** Opens a host that uses the connection manager of this device's provider. */
        @JvmStatic
        public fun open(device: Device): BlockingHost = BlockingHost(rdmaHost { device(device) })
    }
}
