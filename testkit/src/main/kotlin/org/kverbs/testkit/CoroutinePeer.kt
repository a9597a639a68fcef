package org.kverbs.testkit

import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.ConnectOptions
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.BufferPool
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.readByteArray
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.send
import org.kverbs.coroutines.write
import org.kverbs.dsl.ConnectedVerbs
import org.kverbs.dsl.DatagramVerbs
import org.kverbs.dsl.Destination
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.MiB
import org.kverbs.dsl.REMOTE_ATOMIC
import org.kverbs.dsl.REMOTE_READ
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.Transport
import org.kverbs.dsl.UD
import org.kverbs.dsl.memoryRegion
import kotlin.time.Duration

private const val DEPTH = 128

/** The room for an unexpected message. */
private const val ROOM = 65_536

/**
 * Holds one end of [connectedCoroutines]: an open device, a queue pair in RTS whose operations suspend, and [memory]
 * that the other end may read, write and change by atomics, as far as [V] can. For the coroutines of the block.
 */
public class CoroutinePeer<out V : ReceiveVerbs> internal constructor(
    /** The open device. */
    public val context: Context,
    private val transport: Transport<V>,
) : AutoCloseable {
    /** The protection domain of all objects of this end. */
    public val pd: ProtectionDomain = context.protectionDomain()

    /**
     * Takes the completions, also for further queue pairs of the test. The test polls it while all coroutines of the
     * block wait.
     */
    public val dispatcher: CompletionDispatcher = context.completionDispatcher { callerPolls() }

    /** The queue pair, for operations that have no function here. */
    public val qp: AsyncQueuePair<V> =
        dispatcher.qp(pd, transport) {
            maxSendWr(DEPTH)
            maxRecvWr(DEPTH)
        }

    /** A MiB that the peer may read, write and change by atomics. This end's messages do not use it. */
    public val memory: MemoryRegion =
        pd.memoryRegion(1.MiB) {
            access(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC)
        }

    /** The buffers of messages. The test fails if it takes a buffer and does not close it. */
    public val pool: BufferPool = pd.bufferPool()

    private val header = if (transport == UD) ROUTING_HEADER else 0
    private var other: Destination? = null
    private var mtu = 0

    /**
     * The destination of datagrams to the other end: `client.qp.send(local, to = client.destination)`.
     *
     * @throws IllegalStateException if the queue pair is connected, and needs no address
     */
    public val destination: Destination
        get() = checkNotNull(other) { "$qp is connected: its messages go to the other end without a destination" }

    internal fun connect(
        peer: CoroutinePeer<*>,
        options: ConnectOptions,
    ) {
        val endpoint = peer.qp.endpoint(options)
        val queuePair = qp.queuePair
        if (transport != UD) return queuePair.connect(endpoint, options)
        queuePair.activate(options)
        other = Destination(queuePair.addressHandle(endpoint, options), endpoint.queuePairNumber, endpoint.qkey)
        mtu = context.queryPort(options.port()).activeMtu().bytes()
    }

    /**
     * Sends a copy of a message, and suspends until it has arrived, or on UC and UD until it has left.
     *
     * @throws org.kverbs.WorkCompletionException if the send fails
     * @throws IllegalArgumentException if the message is a datagram longer than the path MTU, which the device does not
     *     send
     */
    @Suppress("UNCHECKED_CAST") // a queue pair with a destination has type UD
    public suspend fun send(message: ByteArray) {
        val to = other
        if (to != null) requireDatagram(message, mtu)
        pool.take(maxOf(1, message.size)).use {
            it.write(message)
            if (to == null) {
                (qp as AsyncQueuePair<ConnectedVerbs>).send(it, message.size)
            } else {
                (qp as AsyncQueuePair<DatagramVerbs>).send(it.slice(0, message.size), to)
            }
        }
    }

    /**
     * Posts a receive for a message of up to [bytes] bytes, suspends until a message arrives, and returns a copy of it.
     * For a write with immediate the copy is empty: its bytes lie in the memory that the peer named.
     *
     * @throws org.kverbs.WorkCompletionException if the receive fails
     */
    public suspend fun receive(bytes: Int): ByteArray =
        pool.take(maxOf(1L, bytes + header)).use {
            val received = qp.receive(it)
            it.readByteArray(offset = header, length = if (received.isInBuffer) received.length - header else 0)
        }

    /**
     * Posts a receive, and fails if a message arrives.
     *
     * @param within how long to wait on the test's clock; on embedded devices this takes no real time
     * @throws AssertionError if a message arrived
     */
    public suspend fun expectNoMessage(within: Duration = SILENCE) {
        val message = withTimeoutOrNull(within) { receive(ROOM) } ?: return
        throw unexpected(message, within, qp.toString())
    }

    /** Ends all waits and closes the pool. Fails if buffers are missing in the pool. */
    internal fun end() {
        qp.close()
        try {
            pool.close()
        } catch (e: IllegalStateException) {
            val places =
                e.suppressed.joinToString("\n") {
                    "${it.message?.substringBefore(", taken here")} was taken\n" +
                        it.frames()
                }
            throw AssertionError("${e.message}:\n$places", e)
        }
    }

    /** Tells whether the resource is a queue that the dispatcher made for itself, and closes with itself. */
    internal fun owns(resource: Any): Boolean = resource is CompletionQueue && resource.channel() === dispatcher.channel

    /** Closes the device, and everything made from it. */
    override fun close(): Unit = context.close()
}
