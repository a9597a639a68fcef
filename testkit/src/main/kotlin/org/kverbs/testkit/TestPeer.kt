package org.kverbs.testkit

import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RC
import org.kverbs.dsl.REMOTE_ATOMIC
import org.kverbs.dsl.REMOTE_READ
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.qp
import org.kverbs.embedded.VirtualClock
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.util.function.Consumer
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private const val DEPTH = 128

/** The id of a receive that an end has posted itself; a test's own requests have others. */
private const val RECEIVE = 1L shl 62
private val PATIENCE = 10.seconds

/**
 * One end of a [connectedPair]: an open device, a queue pair of type RC in RTS, its completion queue, and [memory] that the other end may read,
 * write and do atomics on. For one thread at a time.
 */
public class TestPeer internal constructor(
    internal val device: Device,
    clock: VirtualClock? = null,
) : AutoCloseable {
    /** The open device. */
    public val context: Context = device.open()

    /** The domain of everything here. */
    public val pd: ProtectionDomain = context.protectionDomain()

    /** Where sends and receives complete. [awaitSend] and [awaitReceive] poll it: a test that polls it itself uses neither. */
    public val cq: CompletionQueue = context.completionQueue { entries(2 * DEPTH) }

    /** The queue pair, for all that has no function here. */
    public val qp: QueuePair =
        pd.qp {
            type(RC)
            cq(cq)
            maxSendWr(DEPTH)
            maxRecvWr(DEPTH)
        }

    /** A MiB that the peer may do anything with; this end's messages don't touch it. */
    public val memory: MemoryRegion = pd.memoryRegion(1.MiB) { access(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC) }

    /** What messages lie in, until this is closed. */
    internal val buffers = mutableListOf<MemoryRegion>()
    private val receives = ArrayDeque<MemorySlice>()
    private val sent = ArrayDeque<WorkCompletion>()
    private val received = ArrayDeque<WorkCompletion>()
    private val batch = WorkCompletions(DEPTH)

    /** Made with the end, so that it knows of all threads that the test starts. */
    private val idleness = Idleness(clock)

    private fun buffer(bytes: Int): MemorySlice {
        val size = maxOf(1L, bytes.toLong())
        return pd.memoryRegion(size) { access(LOCAL_WRITE) }.also { buffers += it }[0, size]
    }

    /**
     * Makes room for a message of up to [bytes] bytes. Its completion is for [awaitReceive], and all others are for
     * [awaitSend], whatever ids a test gives to its own requests.
     */
    public fun postReceive(bytes: Int) {
        val buffer = buffer(bytes)
        receives += buffer
        qp.postReceive(RECEIVE, buffer)
    }

    /** Posts a message, of which a copy is sent; [awaitSend] tells when it has arrived. */
    public fun send(message: ByteArray) {
        val buffer = buffer(message.size)
        MemorySegment.copy(message, 0, buffer.memory(), ValueLayout.JAVA_BYTE, 0, message.size)
        qp.postWith(
            Consumer {
                it.send(0).signaled()
                if (message.isNotEmpty()) it.from(buffer)
            },
        )
    }

    /**
     * Waits for the next completion of the send queue, 10 s at most. Throws what it throws with a timeout, and as
     * early.
     */
    public fun awaitSend(): WorkCompletion = awaitSend(PATIENCE)

    /**
     * Waits for the next completion of the send queue.
     *
     * @param timeout real time
     * @throws AssertionError if there is none in time; on embedded devices already when nothing has been on its way for
     *   2 s of real time, and no thread but this one has used them or was started by the test. So a thread of a pool
     *   that was there before the test has 2 s for its first call; one that takes longer asks an end for something
     *   before that, such as its state
     */
    public fun awaitSend(timeout: Duration): WorkCompletion = await(sent, "a send", timeout)

    /**
     * Waits for the next message, or for the failure of a receive, 10 s at most. Throws what it throws with a timeout,
     * and as early.
     */
    public fun awaitReceive(): Received = awaitReceive(PATIENCE)

    /**
     * Waits for the next message, or for the failure of a receive.
     *
     * @param timeout real time
     * @throws AssertionError if there is none in time; as early as that of [awaitSend]
     */
    public fun awaitReceive(timeout: Duration): Received {
        val completion = await(received, "a receive", timeout)
        val buffer = receives.removeFirst().memory()
        val length = if (completion.isSuccess) completion.byteLength() else 0
        return Received(completion, buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE))
    }

    private fun await(
        queue: ArrayDeque<WorkCompletion>,
        what: String,
        timeout: Duration,
    ): WorkCompletion {
        val start = TimeSource.Monotonic.markNow()
        idleness.ends()
        while (queue.isEmpty()) {
            repeat(cq.poll(batch)) {
                val completion = batch[it].copy()
                // A failed one has no opcode to go by.
                (if (completion.workRequestId() == RECEIVE) received else sent) += completion
            }
            if (queue.isEmpty()) {
                if (idleness.isForGood()) throw failed(what, "that waits in vain: nothing is on its way, and no timer runs")
                if (start.elapsedNow() > timeout) throw failed(what, "within $timeout")
            }
        }
        return queue.removeFirst()
    }

    private fun failed(
        what: String,
        how: String,
    ) = AssertionError("no completion of $what on ${qp.describe()} $how; its state is ${qp.state()}; ${device.counted()}")

    /** Closes the device, and all that was made from it. */
    override fun close(): Unit = context.close()
}
