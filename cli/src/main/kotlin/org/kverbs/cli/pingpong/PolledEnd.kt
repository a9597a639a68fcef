package org.kverbs.cli.pingpong

import org.kverbs.CompletionHandler
import org.kverbs.Context
import org.kverbs.WorkCompletion
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.dsl.Destination
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.poll
import org.kverbs.dsl.post
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.send

/**
 * An end that posts and polls in one thread. A new end can receive. Call [connect], [begin], then [poll] until
 * [isDone].
 */
internal class PolledEnd(
    device: Context,
    options: PingPongOptions,
    contents: Contents,
    lead: Int,
) : PingPongEnd(device, options, contents, lead) {
    private val cq = device.completionQueue { entries(options.receiveDepth + 1) }
    private val qp =
        pd.qp {
            type(options.type)
            cq(cq)
            maxSendWr(1)
            maxRecvWr(options.receiveDepth)
        }
    private var destination: Destination? = null
    private var receivesPosted = 0
    private val completed = CompletionHandler(::completed)

    override val address: QueuePairEndpoint = qp.endpoint(path)

    init {
        qp.init(path)
        postReceives()
    }

    /** True if all messages went there and back. */
    val isDone: Boolean get() = sent >= rounds && received >= rounds

    override fun connect(remote: QueuePairEndpoint) {
        if (options.type == QueuePairType.UD) {
            qp.activate(path)
            destination = Destination(qp.addressHandle(remote, path), remote.queuePairNumber(), remote.qkey())
        } else {
            qp.connect(remote, path)
        }
    }

    /** Sends the first message, if it is this end's. */
    fun begin() {
        startClock()
        sendIfItsTurn()
    }

    /** Handles what has completed, and answers; gives how much there was. */
    fun poll(): Int = cq.poll(limit = 2, completed)

    private fun completed(completion: WorkCompletion) {
        completion.orThrow()
        if (completion.workRequestId() == RECEIVE) {
            take(completion.byteLength())
            if (--receivesPosted <= 1) postReceives()
        } else {
            sent++
        }
        if (isDone) stopClock() else sendIfItsTurn()
    }

    private fun postReceives() {
        while (receivesPosted < options.receiveDepth) {
            qp.postReceive(incoming, id = RECEIVE)
            receivesPosted++
        }
    }

    private fun sendIfItsTurn() {
        if (posted == rounds || sent < posted || received < posted + lead) return
        prepareMessage()
        val to = destination
        qp.post {
            val message = if (to == null) send(outgoing, id = SEND) else send(outgoing, to, id = SEND)
            message.signaled()
        }
    }

    private companion object {
        const val RECEIVE = 1L
        const val SEND = 2L
    }
}
