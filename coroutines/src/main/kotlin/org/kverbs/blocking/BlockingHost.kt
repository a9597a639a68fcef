package org.kverbs.blocking

import org.kverbs.Device
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.rdmaHost
import java.net.InetSocketAddress

/**
 * Servers and clients of messages for Java: each call blocks its thread, and virtual threads make that cheap.
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
 * **Threads.** Any thread. A wait parks its thread, so a virtual thread does not hold its carrier. An interrupt ends
 * the wait with an InterruptedException.
 *
 * **Ownership.** [close] closes the servers and connections of this host, and ends every wait.
 */
public class BlockingHost private constructor(
    private val host: RdmaHost,
) : AutoCloseable {
    /** Begins a server with settings: `host.server().maxConnections(100).serve(7471, handler)`. */
    public fun server(): BlockingServerBuilder = BlockingServerBuilder(host)

    /** Serves at a port of every address with the settings that [BlockingServerBuilder] has by default. */
    public fun serve(
        port: Int,
        handler: ConnectionHandler,
    ): BlockingServer = server().serve(port, handler)

    /** Begins a connection with settings: `host.client().privateData(token).connect("server", 7471)`. */
    public fun client(): BlockingClientBuilder = BlockingClientBuilder(host)

    /**
     * Connects to a server with the settings that [BlockingClientBuilder] has by default; see
     * [BlockingClientBuilder.connect].
     */
    @Throws(InterruptedException::class)
    public fun connect(
        host: String,
        port: Int,
    ): BlockingConnection = client().connect(host, port)

    /** The same by an address. */
    @Throws(InterruptedException::class)
    public fun connect(address: InetSocketAddress): BlockingConnection = client().connect(address)

    /** Closes the servers and connections of this host, then its devices. */
    override fun close(): Unit = host.close()

    /** Names the kind of its devices. */
    override fun toString(): String = "blocking host on ${host.provider} devices"

    /** Opens hosts. */
    public companion object {
        /**
         * Opens this program's side of its connections, on the RDMA hardware of this machine, or else on the embedded
         * device.
         *
         * @throws org.kverbs.DeviceNotFoundException if no device has a connection manager
         * @throws org.kverbs.LibraryUnavailableException if librdmacm is missing; says what to install
         */
        @JvmStatic
        public fun open(): BlockingHost = BlockingHost(rdmaHost())

        /** The same by the connection manager of this device. */
        @JvmStatic
        public fun open(device: Device): BlockingHost = BlockingHost(rdmaHost { device(device) })
    }
}
