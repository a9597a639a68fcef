package org.kverbs.cli.pingpong

import org.kverbs.Context
import org.kverbs.MemorySlice
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.connectOptions
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import kotlin.time.Duration
import kotlin.time.TimeSource

/**
 * One end of a ping-pong: its memory, what came and went, and the time that it took. [PolledEnd] and [SuspendingEnd]
 * move the messages. Closing the device closes it.
 *
 * @param lead how many messages it must have got to send its first: 0 for the client, 1 for the server
 */
internal abstract class PingPongEnd(
    device: Context,
    protected val options: PingPongOptions,
    private val contents: Contents,
    protected val lead: Int,
) {
    protected val pd = device.protectionDomain()
    protected val path = path(options)

    private val header = if (options.type == QueuePairType.UD) GRH_BYTES else 0
    private val size = options.size.toLong()
    private val memory = pd.memoryRegion(header + 2 * size) { access(LOCAL_WRITE) }
    private val arrived = memory[header, size].memory()

    /** The memory in which messages arrive; a datagram arrives with its header. */
    protected val incoming: MemorySlice = memory[0, header + size]

    /** The message to send. */
    protected val outgoing: MemorySlice = if (contents.separate) memory[header + size, size] else memory[header, size]

    protected var posted = 0
        private set
    protected var received = 0
        private set
    protected var sent = 0
    private var sentAt = 0L

    /** The number of round trips before the measured ones. */
    var warmUp = 0
        private set

    /** The number of all round trips, with the warm-up. */
    protected val rounds: Int get() = warmUp + options.iterations

    /** The times of the measured round trips. */
    val roundTrips = RoundTrips(options.iterations)

    /** The time from before the first measured message to the end of the last. */
    var elapsed = Duration.ZERO
        private set
    private var measuredFrom = TimeSource.Monotonic.markNow()

    /** The queue pair of this end, for the peer. */
    abstract val address: QueuePairEndpoint

    /** Sets the number of round trips before the measured ones; called before the first message. */
    fun warmUp(rounds: Int) {
        warmUp = rounds
    }

    /** Makes it ready to send to the peer. */
    abstract fun connect(remote: QueuePairEndpoint)

    init {
        contents.begin(outgoing.memory())
    }

    /** True if the peer's device has acknowledged a message; for UC and UD, if one was sent. */
    val isAcknowledged: Boolean get() = sent > 0

    /** The numbers of posted, sent and received messages, for an error message. */
    val progress: String get() = "after $posted messages posted, $sent sent and $received received of $rounds"

    /** The figures of what was measured until now, from any thread; null during the warm-up. */
    fun soFar(): PingPongResult? {
        val measured = received - warmUp
        if (measured <= 0) return null
        val time = if (elapsed == Duration.ZERO) measuredFrom.elapsedNow() else elapsed
        return PingPongResult(options.size, measured, time, roundTrips.takeIf { it.count > 0 })
    }

    protected fun startClock() {
        measuredFrom = TimeSource.Monotonic.markNow()
    }

    protected fun stopClock() {
        elapsed = measuredFrom.elapsedNow()
    }

    /** Writes the next message, which is sent at once. */
    protected fun prepareMessage() {
        contents.write(posted++, arrived, outgoing.memory())
        sentAt = System.nanoTime()
    }

    /** Takes a message of so many bytes, with its header. */
    protected fun take(byteLength: Long) {
        val length = byteLength - header
        if (length != size) {
            throw PingPongException(
                "the peer sends messages of $length bytes, not $size: give both ends the same --size",
            )
        }
        if (received == posted + lead) throw PingPongException("the peer sent a message without waiting for an answer")
        if (lead == 0 && received >= warmUp) roundTrips.add(System.nanoTime() - sentAt)
        contents.received(received++, arrived)
        if (received == warmUp) startClock()
    }

    private companion object {
        /** The global routing header before each datagram (IBA volume 1, 11.4.1.2). */
        const val GRH_BYTES = 40L

        /** The connection options of rdma-core's ping-pongs. */
        fun path(options: PingPongOptions): ConnectOptions =
            connectOptions {
                port(options.devicePort)
                options.gidIndex?.let { gidIndex(it) }
                if (options.type != QueuePairType.UD) pathMtu(options.mtu)
                serviceLevel(options.serviceLevel)
                minRnrTimer(12)
                timeout(14)
                retryCount(7)
                rnrRetry(7)
                maxReadAtomic(1)
                maxDestReadAtomic(1)
                access(emptySet())
                qkey(QKEY)
            }
    }
}

/** The key of all UD ping-pongs. */
internal const val QKEY = 0x11111111
