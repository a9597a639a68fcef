package org.kverbs.coroutines

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import org.kverbs.Device
import org.kverbs.attributes.TransportType
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.PortSpace
import java.net.InetAddress
import java.net.InetSocketAddress
import java.time.Duration
import java.util.concurrent.ConcurrentHashMap

/**
 * Makes and takes RDMA connections by IP address and port (rdma_cm(7)). Opens each device when its first connection
 * needs it.
 *
 * ```
 * rdmaHost().use { host ->
 *     val connection = host.connect("10.0.0.1", 7471)
 *     connection.queuePair.send(buffer)
 * }
 * ```
 *
 * **Threads.** One thread takes the events of all connections, and one thread for each device takes its completions; no
 * thread waits for a single connection. With [RdmaHostBuilder.callerPolls] the caller does both.
 *
 * **Ownership.** [close] closes the host's listeners, connections and devices, and fails every waiting call.
 */
public class RdmaHost internal constructor(
    private val builder: RdmaHostBuilder,
) : AutoCloseable {
    private val channel: ConnectionEventChannel = open(builder)
    private val nodes = HashMap<String, RdmaNode>()
    private val steps = ConcurrentHashMap<ConnectionId, ConnectionSteps>()
    private val listeners = ConcurrentHashMap<ConnectionId, RdmaListener>()
    private var isClosed = false

    /** The dispatchers of all nodes, for [poll]. */
    @Volatile
    private var dispatchers = emptyList<CompletionDispatcher>()

    /** The reason why the host no longer takes events; null while it does. */
    @Volatile
    private var end: Throwable? = null

    /** The context in which the host's servers run their handlers. */
    internal val context = builder.context.minusKey(Job)
    internal val scope = CoroutineScope(context + SupervisorJob())

    init {
        if (!builder.isCallers) Thread.ofPlatform().daemon().name("kverbs-connections").start(::takeEvents)
    }

    /** The provider of the connection manager: `native` (librdmacm) or `embedded`. */
    public val provider: String get() = channel.provider()

    private fun takeEvents() {
        var cause: Throwable = IllegalStateException("the host of these connections was closed")
        try {
            while (true) channel.awaitEvent(FOREVER)?.let(::take)
        } catch (e: Throwable) {
            if (channel.isOpen) {
                // No thread takes events any more: end the waits, and refuse new ones.
                cause =
                    IllegalStateException("the connection manager's events can't be taken any more: make a new host", e)
                channel.close()
                throw e
            }
        } finally {
            end(cause)
        }
    }

    private fun end(cause: Throwable) {
        end = cause
        listeners.values.forEach { waking { it.end(cause) } }
        steps.values.forEach { waking { it.events.close(cause) } }
    }

    /**
     * Takes the events and completions that have arrived, and resumes the coroutines that wait for them. Never blocks.
     * One thread at a time can call.
     *
     * @return the number of events and completions taken; 0 if there were none, or the host is closed
     * @throws IllegalStateException if the host has threads of its own
     */
    public fun poll(): Int {
        check(builder.isCallers) { "this host has threads of its own; make it with callerPolls() to poll on yours" }
        if (!channel.isOpen) return 0
        var done = 0
        while (true) {
            take(channel.awaitEvent(Duration.ZERO) ?: break)
            done++
        }
        for (dispatcher in dispatchers) done += dispatcher.poll()
        return done
    }

    private fun take(event: ConnectionEvent) {
        val listening = event.listener()
        if (listening == null) {
            waking { steps[event.id()]?.events?.trySend(event) }
            return
        }
        // Track the id first: further events of the request can come before the program sees it.
        val request = track(event.id())
        val listener = listeners[listening]
        val asked = ConnectionRequest(this, request, event)
        var isTaken = false
        waking { isTaken = listener != null && listener.offer(asked) }
        if (!isTaken) asked.rejectQuietly(BUSY)
    }

    private fun track(id: ConnectionId): ConnectionSteps {
        val made = ConnectionSteps(id)
        steps[id] = made
        id.whenClosed {
            steps.remove(id)
            val what = if (channel.isOpen) id.describe() else "the host of these connections"
            waking { made.events.close(IllegalStateException("$what was closed")) }
        }
        end?.let { made.events.close(it) } // the thread that took events has ended
        return made
    }

    internal fun newId(portSpace: PortSpace): ConnectionSteps = track(channel.id(portSpace))

    /** Returns the device that an id is bound to; opens it on first use. */
    internal fun node(id: ConnectionId): RdmaNode {
        val device = id.device()
        return synchronized(nodes) {
            check(!isClosed && channel.isOpen) { "the host is closed" }
            nodes.getOrPut(device.name()) {
                RdmaNode(device.open()) {
                    builder.dispatcher(this)
                    if (builder.isCallers) callerPolls()
                }.also { dispatchers += it.dispatcher }
            }
        }
    }

    /**
     * Listens for connections, or for requests of a datagram service, at an address of this machine.
     *
     * @param address a wildcard address listens at every address; port 0 takes a free port, see [RdmaListener.address]
     * @param backlog number of requests that can wait; further ones are rejected
     * @param portSpace [PortSpace.UDP] for datagrams, whose requests [acceptDatagrams] answers; TCP and UDP ports are
     *   separate
     * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is in use, EADDRNOTAVAIL if no RDMA device has the
     *   address
     */
    public fun listen(
        address: InetSocketAddress,
        backlog: Int = 1024,
        portSpace: PortSpace = PortSpace.TCP,
    ): RdmaListener {
        val id = channel.id(portSpace)
        try {
            id.bind(address)
            val listener = RdmaListener(id, backlog)
            listeners[id] = listener
            id.whenClosed {
                listeners.remove(id)
                listener.end(IllegalStateException("the listener at ${address.shown()} was closed"))
            }
            id.listen(backlog)
            return listener
        } catch (e: Throwable) {
            id.close()
            throw e
        }
    }

    /**
     * Listens at a port of every address, IPv4 and IPv6; on a machine with iWARP devices IPv4 alone. Otherwise as
     * above.
     *
     * @param port 0 takes a free port
     */
    public fun listen(
        port: Int,
        backlog: Int = 1024,
        portSpace: PortSpace = PortSpace.TCP,
    ): RdmaListener = listen(everywhere(port), backlog, portSpace)

    /** The IPv6 wildcard takes connections to IPv4 addresses as well, except on iWARP, where it takes IPv6 alone. */
    internal fun everywhere(port: Int): InetSocketAddress {
        val devices = builder.device?.let(::listOf) ?: Device.list()
        val bytes = if (devices.any { it.transportType() == TransportType.IWARP }) IPV4_BYTES else IPV6_BYTES
        return InetSocketAddress(InetAddress.getByAddress(ByteArray(bytes)), port)
    }

    /** Closes the host's servers and connections, then its devices. */
    override fun close() {
        scope.cancel()
        // Close without a lock: closing calls back from other threads.
        val opened =
            synchronized(nodes) {
                isClosed = true
                nodes.values.toList().also { nodes.clear() }
            }
        if (builder.isCallers) end(IllegalStateException("the host of these connections was closed"))
        closeAll(channel, *opened.toTypedArray())
    }

    private companion object {
        val FOREVER: Duration = Duration.ofDays(1)
        val BUSY = "busy".encodeToByteArray()
        const val IPV4_BYTES = 4
        const val IPV6_BYTES = 16

        fun open(builder: RdmaHostBuilder): ConnectionEventChannel {
            val device = builder.device
            val provider = builder.provider
            return when {
                device != null -> ConnectionEventChannel.open(device)
                provider != null -> ConnectionEventChannel.open(provider)
                else -> ConnectionEventChannel.open()
            }
        }
    }
}

/**
 * Opens a host: this program's side of its RDMA connections.
 *
 * @throws org.kverbs.LibraryUnavailableException if librdmacm is missing; the message names the package to install
 * @throws org.kverbs.DeviceNotFoundException if no device has a connection manager
 */
public fun rdmaHost(block: RdmaHostBuilder.() -> Unit = {}): RdmaHost = RdmaHost(RdmaHostBuilder().apply(block))
