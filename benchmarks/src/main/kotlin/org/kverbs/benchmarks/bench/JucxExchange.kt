package org.kverbs.benchmarks.bench

import org.openucx.jucx.UcxCallback
import org.openucx.jucx.UcxUtils
import org.openucx.jucx.ucp.UcpContext
import org.openucx.jucx.ucp.UcpEndpoint
import org.openucx.jucx.ucp.UcpEndpointParams
import org.openucx.jucx.ucp.UcpParams
import org.openucx.jucx.ucp.UcpRequest
import org.openucx.jucx.ucp.UcpWorker
import org.openucx.jucx.ucp.UcpWorkerParams
import java.nio.ByteBuffer

/**
 * Tagged messages of UCX by its Java binding, between two workers of one process; both ends make progress in a loop.
 * The environment variable `UCX_TLS` says over what, for the whole process.
 */
internal class JucxExchange : Exchange {
    private val context = UcpContext(UcpParams().requestTagFeature())
    private val near = End(context)
    private val far = End(context)

    init {
        near.connect(far)
        far.connect(near)
    }

    override fun ask(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        near.receive(bytes)
        near.send(bytes)
        near.await(sends = 1, receives = 1)
    }

    override fun answer(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        far.receive(bytes)
        far.await(sends = 0, receives = 1)
        far.send(bytes)
        far.await(sends = 1, receives = 0)
    }

    override fun send(
        bytes: Int,
        count: Int,
    ) {
        repeat(minOf(UNDER_WAY, count)) { near.send(bytes) }
        for (done in 1..count) {
            near.await(sends = 1, receives = 0)
            if (done + UNDER_WAY <= count) near.send(bytes)
        }
    }

    override fun receive(
        bytes: Int,
        count: Int,
    ) {
        repeat(minOf(UNDER_WAY, count)) { far.receive(bytes) }
        for (done in 1..count) {
            far.await(sends = 0, receives = 1)
            if (done + UNDER_WAY <= count) far.receive(bytes)
        }
    }

    override fun close() {
        near.close()
        far.close()
        context.close()
    }

    /** One end, for one thread. */
    private class End(
        context: UcpContext,
    ) : AutoCloseable {
        private val worker: UcpWorker = context.newWorker(UcpWorkerParams())
        private lateinit var endpoint: UcpEndpoint
        private val outgoing = ByteBuffer.allocateDirect(Exchange.LONGEST)
        private val incoming = ByteBuffer.allocateDirect(Exchange.LONGEST)
        private val from = UcxUtils.getAddress(outgoing)
        private val into = UcxUtils.getAddress(incoming)
        private val turns = Turns()
        private var sent = 0
        private var received = 0
        private val ofSend = callback { sent++ }
        private val ofReceive = callback { received++ }

        fun connect(peer: End) {
            endpoint = worker.newEndpoint(UcpEndpointParams().setUcpAddress(peer.worker.address))
        }

        fun send(bytes: Int) {
            endpoint.sendTaggedNonBlocking(from, bytes.toLong(), TAG, ofSend)
        }

        fun receive(bytes: Int) {
            worker.recvTaggedNonBlocking(into, bytes.toLong(), TAG, -1L, ofReceive)
        }

        fun await(
            sends: Int,
            receives: Int,
        ) {
            turns.reset()
            while (sent < sends || received < receives) if (worker.progress() == 0) turns.pause() else turns.reset()
            sent -= sends
            received -= receives
        }

        private fun callback(done: () -> Unit) =
            object : UcxCallback() {
                override fun onSuccess(request: UcpRequest?) = done()

                override fun onError(
                    status: Int,
                    reason: String?,
                ): Unit = error("UCX says $reason")
            }

        override fun close() {
            endpoint.close()
            worker.close()
        }
    }

    private companion object {
        const val TAG = 1L
        const val UNDER_WAY = 16
    }
}
