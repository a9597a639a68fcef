package org.kverbs.samples.pingpong

import org.kverbs.CompletionChannel
import org.kverbs.CompletionHandler
import org.kverbs.ConnectOptions
import org.kverbs.Context
import org.kverbs.QueuePairEndpoint
import org.kverbs.QueuePairType
import org.kverbs.WorkCompletion
import org.kverbs.dsl.Destination
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.connectOptions
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.poll
import org.kverbs.dsl.post
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.qpn
import org.kverbs.dsl.send
import org.kverbs.dsl.signaled
import kotlin.time.TimeSource

/**
 * One end of a ping-pong: a queue pair, its completion queue and its memory. It is made ready to receive; [connect] it, [begin],
 * then [poll] until it [isDone]. For one thread. Closing the device closes it.
 *
 * @param lead how many messages it must have got to send its first: 0 for the client, 1 for the server
 */
internal class PingPongEnd(
    device: Context,
    private val options: PingPongOptions,
    private val contents: Contents,
    private val lead: Int,
) {
    private val pd = device.protectionDomain()

    /** Where completions are announced, or null for who polls. */
    val channel: CompletionChannel? = if (options.events) device.completionChannel() else null
    val cq =
        device.completionQueue {
            entries(options.receiveDepth + 1)
            if (channel != null) channel(channel)
        }
    private val qp =
        pd.qp {
            type(options.type)
            cq(cq)
            maxSendWr(1)
            maxRecvWr(options.receiveDepth)
        }
    private val path = path(options)

    private val header = if (options.type == QueuePairType.UD) GRH_BYTES else 0
    private val size = options.size.toLong()
    private val memory = pd.memoryRegion(header + 2 * size) { access(LOCAL_WRITE) }
    private val incoming = memory[0, header + size]
    private val outgoing = if (contents.separate) memory[header + size, size] else memory[header, size]
    private val arrived = memory[header, size].memory()

    private var destination: Destination? = null
    private var receivesPosted = 0
    private var posted = 0
    private var sent = 0
    private var received = 0
    private var sentAt = 0L
    private val completed = CompletionHandler(::completed)

    /** How long each measured message took there and back. */
    val roundTrips = RoundTrips(options.iterations - options.warmUp)

    /** When the measured messages began. */
    var measuredFrom = TimeSource.Monotonic.markNow()
        private set

    /** What the peer must know. */
    val address: QueuePairEndpoint = qp.endpoint(path)

    init {
        contents.begin(outgoing.memory())
        qp.init(path)
        postReceives()
    }

    /** Whether all messages went there and back. */
    val isDone: Boolean get() = sent >= options.iterations && received >= options.iterations

    /** How far it came, for a message. */
    val progress: String get() = "after $posted messages posted, $sent sent and $received received of ${options.iterations}"

    /** Makes it ready to send to the peer. */
    fun connect(remote: QueuePairEndpoint) {
        if (options.type == QueuePairType.UD) {
            qp.activate(path)
            destination = Destination(qp.addressHandle(remote, path), remote.qpn, remote.qkey())
        } else {
            qp.connect(remote, path)
        }
    }

    /** Sends the first message, if it is this end's. */
    fun begin() {
        measuredFrom = TimeSource.Monotonic.markNow()
        sendIfItsTurn()
    }

    /** Handles what has completed, and answers; gives how much there was. */
    fun poll(): Int = cq.poll(limit = 2, completed)

    private fun completed(completion: WorkCompletion) {
        completion.orThrow()
        if (completion.workRequestId() == RECEIVE) received(completion) else sent++
        sendIfItsTurn()
    }

    private fun received(completion: WorkCompletion) {
        requireMessage(completion)
        if (lead == 0 && received >= options.warmUp) roundTrips.add(System.nanoTime() - sentAt)
        contents.received(received++, arrived)
        if (received == options.warmUp) measuredFrom = TimeSource.Monotonic.markNow()
        if (--receivesPosted <= 1) postReceives()
    }

    private fun requireMessage(completion: WorkCompletion) {
        val length = completion.byteLength() - header
        if (length != size) throw PingPongException("the peer sends messages of $length bytes, not $size: give both ends the same --size")
        if (received == posted + lead) throw PingPongException("the peer sent a message without waiting for an answer")
    }

    private fun postReceives() {
        while (receivesPosted < options.receiveDepth) {
            qp.postReceive(incoming, id = RECEIVE)
            receivesPosted++
        }
    }

    private fun sendIfItsTurn() {
        if (posted == options.iterations || sent < posted || received < posted + lead) return
        contents.write(posted++, arrived, outgoing.memory())
        sentAt = System.nanoTime()
        val to = destination
        qp.post {
            if (to == null) send(outgoing, id = SEND) else send(outgoing, to, id = SEND)
            signaled()
        }
    }

    companion object {
        private const val RECEIVE = 1L
        private const val SEND = 2L

        /** The global routing header before each datagram (IBA volume 1, 11.4.1.2). */
        private const val GRH_BYTES = 40L

        /** What C's ping-pongs connect with. */
        private fun path(options: PingPongOptions): ConnectOptions =
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
