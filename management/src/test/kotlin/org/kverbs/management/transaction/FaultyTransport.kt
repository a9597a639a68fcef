package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeaderDirected
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Guid
import java.util.concurrent.CopyOnWriteArrayList

/** The place in a datagram of the data of subnet management. */
internal const val DATA = 64

/** The GUID of the node at the end of a path, in the fabric of [FaultyTransport]. */
internal fun guidAt(hops: List<Int>) = Guid(hops.fold(1L) { hash, hop -> hash * 257 + hop })

/** A fabric in which each path leads to a node of its own. [answer] says what becomes of a request. */
internal class FaultyTransport(
    private val answer: FaultyTransport.(request: ByteArray) -> Unit,
) : MadTransport {
    private lateinit var receiver: MadReceiver
    val sent = CopyOnWriteArrayList<ByteArray>()
    var isClosed = false

    override fun port() = MadPort("simulated", NodeInfo(), PortInfo())

    override fun receive(receiver: MadReceiver) {
        this.receiver = receiver
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        check(!isClosed) { "sent after close" }
        sent += mad.copyOf()
        answer(mad.copyOf())
    }

    fun deliver(mad: ByteArray) = receiver.received(mad, null)

    fun lose(mad: ByteArray) = receiver.undelivered(mad)

    override fun close() {
        isClosed = true
    }
}

/** The answer of the node at the end of the request's path, with what [change] does to its header. */
internal fun answerTo(
    request: ByteArray,
    change: MADHeaderDirected.() -> Unit = {},
): ByteArray {
    val answer = request.copyOf()
    val smp = SMPFormatDirected.at(answer)
    val hops = (0..smp.madHeader.hopCount).map { smp.initialPath[it] }
    NodeInfo.at(answer, DATA).nodeGUID = guidAt(hops)
    smp.madHeader.apply {
        method = Method.GET_RESP
        direction = true
        change()
    }
    return answer
}
