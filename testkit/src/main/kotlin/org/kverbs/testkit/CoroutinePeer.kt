package org.kverbs.testkit

import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
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
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RC
import org.kverbs.dsl.REMOTE_ATOMIC
import org.kverbs.dsl.REMOTE_READ
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.memoryRegion

private const val DEPTH = 128

/**
 * One end of [connectedCoroutines]: an open device, a queue pair of type RC in RTS whose operations suspend, and [memory] that the other
 * end may read, write and do atomics on. For the coroutines of the block.
 */
public class CoroutinePeer internal constructor(
    internal val device: Device,
) : AutoCloseable {
    /** The open device. */
    public val context: Context = device.open()

    /** The domain of everything here. */
    public val pd: ProtectionDomain = context.protectionDomain()

    /** Takes the completions, for further queue pairs of the test too. It is polled while all coroutines of the block wait. */
    public val dispatcher: CompletionDispatcher = context.completionDispatcher { callerPolls() }

    /** The queue pair, for all that has no function here. */
    public val qp: AsyncQueuePair<RcVerbs> =
        dispatcher.qp(pd, RC) {
            maxSendWr(DEPTH)
            maxRecvWr(DEPTH)
        }

    /** A MiB that the peer may do anything with; this end's messages don't touch it. */
    public val memory: MemoryRegion = pd.memoryRegion(1.MiB) { access(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC) }

    /** What messages lie in. A buffer that a test takes from it and doesn't close fails the test. */
    public val pool: BufferPool = pd.bufferPool()

    /**
     * Sends a copy of a message and suspends until it has arrived.
     *
     * @throws org.kverbs.WorkCompletionException if it can't arrive
     */
    public suspend fun send(message: ByteArray) {
        pool.take(maxOf(1L, message.size.toLong())).use {
            it.write(message)
            qp.send(it, message.size.toLong())
        }
    }

    /**
     * Makes room for a message of up to [bytes] bytes, suspends until one has come, and returns a copy of it.
     *
     * @throws org.kverbs.WorkCompletionException if the receive fails
     */
    public suspend fun receive(bytes: Int): ByteArray =
        pool.take(maxOf(1L, bytes.toLong())).use {
            val received = qp.receive(it)
            it.readByteArray(length = received.length)
        }

    /** Ends all waits and the pool; fails if buffers are missing in it. */
    internal fun end() {
        qp.close()
        try {
            pool.close()
        } catch (e: IllegalStateException) {
            val places = e.suppressed.joinToString("\n") { "${it.message?.substringBefore(", taken here")} was taken\n" + it.frames() }
            throw AssertionError("${e.message}:\n$places")
        }
    }

    /** Whether it is a queue that the dispatcher made as it needed one, and closes with itself. */
    internal fun owns(resource: Any): Boolean = resource is CompletionQueue && resource.channel() === dispatcher.channel

    /** Closes the device, and all that was made from it. */
    override fun close(): Unit = context.close()
}
