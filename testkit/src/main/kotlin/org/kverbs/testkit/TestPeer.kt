package org.kverbs.testkit

import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode.RECV_RDMA_WITH_IMM
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.WorkCompletions
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.Destination
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.MiB
import org.kverbs.dsl.REMOTE_ATOMIC
import org.kverbs.dsl.REMOTE_READ
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.dsl.Transport
import org.kverbs.dsl.UD
import org.kverbs.dsl.Verbs
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.qp
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.util.function.Consumer
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private const val DEPTH = 128

/** The bytes before a received datagram: its global routing header, or room for it. */
internal const val ROUTING_HEADER = 40L

/** The id of a receive that an end posted itself; the requests of a test have others. */
private const val RECEIVE = 1L shl 62
private const val RECEIVE_NAME = "a receive"
private val PATIENCE = 10.seconds

/**
 * Holds one end of a [connectedPair]: an open device, a queue pair in RTS, its completion queue, and [memory] that the
 * other end may read, write and change by atomics, as far as the type of the queue pair can. For one thread at a time.
 */
public class TestPeer internal constructor(
    /** The open device. */
    public val context: Context,
    private val transport: Transport<Verbs>,
    private val idleness: Idleness,
) : AutoCloseable {
    /** The protection domain of all objects of this end. */
    public val pd: ProtectionDomain = context.protectionDomain()

    /**
     * The completion queue of sends and receives. [awaitSend] and [awaitReceive] poll it: a test that polls it itself
     * must use neither.
     */
    public val cq: CompletionQueue = context.completionQueue { entries(2 * DEPTH) }

    /** The queue pair, for operations that have no function here. */
    public val qp: QueuePair =
        pd.qp {
            type(transport.type)
            cq(cq)
            maxSendWr(DEPTH)
            maxRecvWr(DEPTH)
        }

    /** A MiB that the peer may read, write and change by atomics. This end's messages do not use it. */
    public val memory: MemoryRegion =
        pd.memoryRegion(1.MiB) {
            access(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC)
        }

    /** The memory of messages, until this end is closed. */
    internal val buffers = mutableListOf<MemoryRegion>()
    private val receives = ArrayDeque<MemorySlice>()
    private val sent = ArrayDeque<WorkCompletion>()
    private val received = ArrayDeque<WorkCompletion>()
    private val batch = WorkCompletions(DEPTH)
    private val header = if (transport == UD) ROUTING_HEADER.toInt() else 0
    private var other: Destination? = null
    private var mtu = 0

    /**
     * The destination of datagrams to the other end, for requests that the test posts itself.
     *
     * @throws IllegalStateException if the queue pair is connected, and needs no address
     */
    public val destination: Destination
        get() =
            checkNotNull(
                other,
            ) { "${qp.describe()} is connected: its messages go to the other end without a destination" }

    internal fun connect(
        peer: TestPeer,
        options: ConnectOptions,
    ) {
        val endpoint = peer.qp.endpoint(options)
        if (transport != UD) return qp.connect(endpoint, options)
        qp.activate(options)
        mtu = context.queryPort(options.port()).activeMtu().bytes()
        other = Destination(qp.addressHandle(endpoint, options), endpoint.queuePairNumber, endpoint.qkey)
    }

    private fun buffer(bytes: Int): MemorySlice {
        val size = maxOf(1L, bytes.toLong())
        return pd.memoryRegion(size) { access(LOCAL_WRITE) }.also { buffers += it }[0, size]
    }

    /**
     * Posts a receive for a message of up to [bytes] bytes. [awaitReceive] returns its completion; [awaitSend] returns
     * all others, whatever ids a test gives to its own requests.
     */
    public fun postReceive(bytes: Int) {
        val buffer = buffer(bytes + header)
        receives += buffer
        qp.postReceive(RECEIVE, buffer)
    }

    /**
     * Posts a send of a copy of a message. [awaitSend] returns when it has arrived, or on UC and UD when it has left.
     *
     * @throws IllegalArgumentException if the message is a datagram longer than the path MTU, which the device does not
     *     send
     */
    public fun send(message: ByteArray) {
        if (transport == UD) requireDatagram(message, mtu)
        val buffer = buffer(message.size)
        MemorySegment.copy(message, 0, buffer.memory(), ValueLayout.JAVA_BYTE, 0, message.size)
        qp.postWith(
            Consumer {
                it.send(0).signaled()
                other?.run { it.to(address, queuePairNumber, qkey) }
                if (message.isNotEmpty()) it.from(buffer)
            },
        )
    }

    /**
     * Waits for the next completion of the send queue, 10 s at most. Throws as the overload with a timeout does, and as
     * early.
     */
    public fun awaitSend(): WorkCompletion = awaitSend(PATIENCE)

    /**
     * Waits for the next completion of the send queue.
     *
     * @param timeout real time
     * @throws AssertionError if no completion comes in time. On embedded devices the wait fails earlier: after 2 s of
     *     real time without a packet in flight or a timer, if no thread but this one has used the devices or was
     *     started by the test. So a thread of an older pool has 2 s for its first call; a thread that needs more time
     *     must first make any other call on an end, such as a query of its state
     * @throws InterruptedException if the thread is interrupted
     */
    public fun awaitSend(timeout: Duration): WorkCompletion = await(sent, "a send", timeout)

    /**
     * Waits for the next message, or for the failure of a receive, 10 s at most. Throws as the overload with a timeout
     * does, and as early.
     */
    public fun awaitReceive(): ReceivedMessage = awaitReceive(PATIENCE)

    /**
     * Waits for the next message, or for the failure of a receive.
     *
     * @param timeout real time
     * @throws AssertionError if neither comes in time; as early as that of [awaitSend]
     * @throws InterruptedException if the thread is interrupted
     */
    public fun awaitReceive(timeout: Duration): ReceivedMessage {
        val completion = await(received, RECEIVE_NAME, timeout)
        val buffer = receives.removeFirst().memory()
        val bytes =
            if (completion.isSuccess && completion.opcode() != RECV_RDMA_WITH_IMM) {
                buffer
                    .asSlice(
                        0,
                        completion.byteLength(),
                    ).asSlice(header.toLong())
            } else {
                buffer.asSlice(0, 0)
            }
        return ReceivedMessage(completion, bytes.toArray(ValueLayout.JAVA_BYTE))
    }

    /** Fails if a message arrives within a second. Throws as the overload with a time does. */
    public fun expectNoMessage(): Unit = expectNoMessage(SILENCE)

    /**
     * Fails if a message arrives within a time: of the pair's clock, which this moves, or real time on a real device.
     *
     * @throws AssertionError if a message arrived, if a receive failed, or if none can arrive because no receive is
     *     posted
     */
    public fun expectNoMessage(within: Duration) {
        if (receives.isEmpty()) {
            throw AssertionError(
                "no message can arrive at ${qp.describe()} without a receive: call postReceive first",
            )
        }
        idleness.pass(within) { poll() }
        if (received.isEmpty()) return
        val came = awaitReceive()
        if (!came.completion.isSuccess) {
            throw AssertionError("no message should arrive, but a receive on ${qp.describe()} failed: $came")
        }
        throw unexpected(came.bytes, within, qp.describe())
    }

    private fun poll() {
        repeat(cq.poll(batch)) {
            val completion = batch[it].copy()
            // The opcode of a failed completion is undefined.
            (if (completion.workRequestId() == RECEIVE) received else sent) += completion
        }
    }

    private fun await(
        queue: ArrayDeque<WorkCompletion>,
        what: String,
        timeout: Duration,
    ): WorkCompletion {
        val start = TimeSource.Monotonic.markNow()
        idleness.ends()
        while (queue.isEmpty()) {
            poll()
            if (queue.isEmpty()) {
                if (idleness.isForGood()) {
                    throw failed(
                        what,
                        "that waits in vain: no packet is in flight, and no timer runs",
                    )
                }
                if (start.elapsedNow() > timeout) throw failed(what, "within $timeout")
                idleness.pause()
            }
        }
        return queue.removeFirst()
    }

    /** Fails if a request has failed and the test did not await it; flushed requests only follow another failure. */
    internal fun failOnUnawaited(name: String) {
        if (!cq.isOpen) return
        poll()
        val failed = (sent + received).firstOrNull { !it.isSuccess && it.status() != WR_FLUSH_ERR } ?: return
        val await = if (failed.workRequestId() == RECEIVE) "awaitReceive()" else "awaitSend()"
        throw AssertionError("a work request of the $name failed, and the block ended without $name.$await: $failed")
    }

    private fun failed(
        what: String,
        how: String,
    ): AssertionError {
        val hint =
            if (what == RECEIVE_NAME && receives.isEmpty()) {
                "; no receive is posted: call postReceive first"
            } else {
                ""
            }
        return AssertionError(
            "no completion of $what on ${qp.describe()} $how$hint; its state is ${qp.state()}; " +
                "${context.device().counted()}",
        )
    }

    /** Closes the device, and everything made from it. */
    override fun close(): Unit = context.close()
}
