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
 * This program's side of its connections, by IP addresses and ports (rdma_cm(7)). It opens a device when the first
 * connection comes to it.
 *
 * ```
 * rdmaHost().use { host ->
 *     val connection = host.connect("10.0.0.1", 7471)
 *     connection.queuePair.send(buffer)
 * }
 * ```
 *
 * **Threads.** One thread takes the events of all connections, and one for each device its completions; none waits for
 * a connection. Or the caller does both ([RdmaHostBuilder.callerPolls]).
 *
 * **Ownership.** [close] closes its listeners, connections and devices, and ends what waits.
 */
public class RdmaHost internal constructor(
    private val builder: RdmaHostBuilder,
) : AutoCloseable {
    private val channel: ConnectionEventChannel = open(builder)
    private val nodes = HashMap<String, RdmaNode>()
    private val steps = ConcurrentHashMap<ConnectionId, ConnectionSteps>()
    private val listeners = ConcurrentHashMap<ConnectionId, RdmaListener>()
    private var isClosed = false

    /** Those of the nodes, for [poll]. */
    @Volatile
    private var dispatchers = emptyList<CompletionDispatcher>()

    /** Why nobody takes events any more. */
    @Volatile
    private var end: Throwable? = null

    /** Where its servers run their handlers. */
    internal val context = builder.context.minusKey(Job)
    internal val scope = CoroutineScope(context + SupervisorJob())

    init {
        if (!builder.isCallers) Thread.ofPlatform().daemon().name("kverbs-connections").start(::takeEvents)
    }

    /** Which connection manager it uses: `native` is librdmacm. */
    public val provider: String get() = channel.provider()

    private fun takeEvents() {
        var cause: Throwable = IllegalStateException("the host of these connections was closed")
        try {
            while (true) channel.awaitEvent(FOREVER)?.let(::take)
        } catch (e: Throwable) {
            if (channel.isOpen) {
                // Nobody takes events any more: what waits must end, and nothing may begin to.
                cause = IllegalStateException("the connection manager's events can't be taken any more", e)
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
     * Takes the events and completions that are there, and resumes the coroutines that wait for them. Never blocks. One
     * thread at a time.
     *
     * @return how much there was to do; 0 is nothing, as it is once the host is closed
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
        // Its further events may come before anybody has looked at the request.
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
        end?.let { made.events.close(it) } // too late for the thread that took events
        return made
    }

    internal fun newId(portSpace: PortSpace): ConnectionSteps = track(channel.id(portSpace))

    /** The device that an id is bound to, opened once. */
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
     * Takes connections, or requests for a datagram service, at a port of this machine's addresses.
     *
     * @param address where; a wildcard takes them at every address, and port 0 is a free one, which
     *     [RdmaListener.address] tells
     * @param backlog how many requests may wait; more are rejected
     * @param portSpace [PortSpace.UDP] for datagrams, whose requests are answered by [acceptDatagrams]; the ports of
     *     each are its own
     * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is taken, EADDRNOTAVAIL for an address of no RDMA
     *     device
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
     * Takes connections at a port of every address, of IPv4 and IPv6, or with iWARP devices of IPv4 alone; parameters
     * and errors as above.
     *
     * @param port 0 is a free one
     */
    public fun listen(
        port: Int,
        backlog: Int = 1024,
        portSpace: PortSpace = PortSpace.TCP,
    ): RdmaListener = listen(everywhere(port), backlog, portSpace)

    /** The wildcard of IPv6 takes connections to IPv4 addresses as well, except on iWARP, where each takes its own. */
    internal fun everywhere(port: Int): InetSocketAddress {
        val devices = builder.device?.let(::listOf) ?: Device.list()
        val bytes = if (devices.any { it.transportType() == TransportType.IWARP }) IPV4_BYTES else IPV6_BYTES
        return InetSocketAddress(InetAddress.getByAddress(ByteArray(bytes)), port)
    }

    /** Closes the servers and connections of this host, then its devices. */
    override fun close() {
        scope.cancel()
        // Under no lock: what is closed may call back from other threads.
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
 * Opens this program's side of its connections.
 *
 * @throws org.kverbs.LibraryUnavailableException if librdmacm is missing; says what to install
 * @throws org.kverbs.DeviceNotFoundException if no device has a connection manager
 */
public fun rdmaHost(block: RdmaHostBuilder.() -> Unit = {}): RdmaHost = RdmaHost(RdmaHostBuilder().apply(block))
