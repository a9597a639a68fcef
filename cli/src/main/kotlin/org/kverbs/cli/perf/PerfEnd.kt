package org.kverbs.cli.perf

import org.kverbs.Context
import org.kverbs.MemorySlice
import org.kverbs.QueuePair
import org.kverbs.RemoteMemory
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.REMOTE_ATOMIC
import org.kverbs.dsl.REMOTE_READ
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.dsl.connectOptions
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.invoke.VarHandle

/**
 * One end of a measurement: its memory and its queue pairs. [PolledPerfEnd] and [SuspendingPerfEnd] move the messages.
 * Closing the device closes it.
 */
internal abstract class PerfEnd(
    protected val device: Context,
    protected val options: PerfOptions,
) {
    protected val pd = device.protectionDomain()

    /** The bytes of one direction of a queue pair. perftest's programs write to several places of a page. */
    private val room = maxOf(options.longest.toLong() + PAGE - 1, 2 * PAGE) / PAGE * PAGE
    private val memory =
        PerfMemory.orUnfit(2 * room * options.queuePairs, options) { bytes ->
            pd.memoryRegion(bytes) {
                when (options.test.operation) {
                    PerfTest.Operation.SEND -> access(LOCAL_WRITE)
                    PerfTest.Operation.WRITE -> access(LOCAL_WRITE, REMOTE_WRITE)
                    PerfTest.Operation.READ -> access(LOCAL_WRITE, REMOTE_READ)
                    PerfTest.Operation.ATOMIC -> access(LOCAL_WRITE, REMOTE_ATOMIC)
                }
            }
        }

    /** The queue pairs, in the order of their numbers in this test. */
    abstract val queuePairs: List<QueuePair>

    /** The peer's memory of each queue pair. */
    protected var remote: List<RemoteMemory> = emptyList()
        private set

    /** The messages of this round that the peer's device has taken, and those that came from the peer. */
    protected var sent = 0L
    protected var received = 0L

    /** The state of the round, for an error message. */
    val progress get() = "$sent messages sent and $received received"

    /** True if the peer's device has acknowledged a message of this round. */
    val isAcknowledged get() = sent > 0

    /** Takes the peer's memory of each queue pair. */
    fun meet(peer: List<RemoteMemory>) {
        remote = peer
    }

    /** The memory that the peer writes, reads or adds to, of each queue pair. */
    fun offered(): List<RemoteMemory> = options.queuePairs.range.map { memory.remote().slice(inOffset(it), room) }

    /** What a message of this size arrives in. */
    protected fun incoming(
        queue: Int,
        size: Int = options.longest,
    ): MemorySlice = memory[inOffset(queue), size]

    /** What a message of this size is sent from, or an answer arrives in. */
    protected fun outgoing(
        queue: Int,
        size: Int,
    ): MemorySlice = memory[inOffset(queue) + room, size]

    private fun inOffset(queue: Int) = 2 * room * queue

    protected val Int.range get() = 0..<this

    /** The last byte of a message that the peer writes, now. */
    protected fun lastByte(size: Int): Byte {
        val byte = memory.memory().get(JAVA_BYTE, size - 1L)
        VarHandle.acquireFence() // the device changes it: the compiler must not take the read out of a loop
        return byte
    }

    /** Writes the last byte of a message before it is sent. */
    protected fun stamp(
        size: Int,
        byte: Byte,
    ) {
        memory.memory().set(JAVA_BYTE, room + size - 1, byte)
        VarHandle.releaseFence()
    }

    /**
     * Gets ready for a round, before the peer can begin it. A message that arrives is told from one that was there by
     * its last byte.
     */
    open fun prepare(round: Round) {
        sent = 0
        received = 0
        if (options.test.operation == PerfTest.Operation.WRITE) memory.memory().set(JAVA_BYTE, round.size - 1L, 0)
    }

    /** Plays a round; the peer is ready. [counts] tells when all messages were sent. */
    abstract fun play(
        round: Round,
        measured: Measured,
        counts: Counts,
    )

    internal companion object {
        private const val PAGE = 4096L

        /** The timeout code for half a second: no packet is lost here, but a thread may wait for a processor. */
        private const val PATIENT = 17

        /** The connection options of both ends. [reads] is how many both ends keep under way. */
        fun path(
            options: PerfOptions,
            reads: Int? = null,
        ): ConnectOptions =
            connectOptions {
                port(options.devicePort)
                options.gidIndex?.let { gidIndex(it) }
                options.mtu?.let { pathMtu(it) }
                timeout(PATIENT)
                retryCount(7)
                rnrRetry(7)
                minRnrTimer(12)
                reads?.let {
                    maxReadAtomic(it)
                    maxDestReadAtomic(it)
                }
            }
    }
}
