package org.kverbs.benchmarks.bench

import com.ibm.disni.RdmaEndpoint
import com.ibm.disni.RdmaEndpointFactory
import com.ibm.disni.RdmaPassiveEndpointGroup
import com.ibm.disni.verbs.IbvMr
import com.ibm.disni.verbs.IbvRecvWR
import com.ibm.disni.verbs.IbvSendWR
import com.ibm.disni.verbs.IbvSge
import com.ibm.disni.verbs.IbvWC
import com.ibm.disni.verbs.RdmaCmId
import com.ibm.disni.verbs.SVCPollCq
import com.ibm.disni.verbs.SVCPostRecv
import com.ibm.disni.verbs.SVCPostSend
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.util.LinkedList
import java.util.concurrent.CompletableFuture

/**
 * Sends and receives of DiSNI over an RC connection that rdma_cm makes; both ends poll. The calls are DiSNI's
 * stateful ones: made once, then executed again and again.
 *
 * @param address an address of the RDMA device and a free port, where the far end listens for a moment
 */
internal class DisniExchange(
    address: InetSocketAddress,
) : PolledExchange() {
    private val group = Group()
    override val near: End
    override val far: End

    init {
        group.init(group)
        val listener = group.createServerEndpoint().bind(address, 1)
        val accepted = CompletableFuture.supplyAsync { listener.accept() }
        val connected = group.createEndpoint().apply { connect(address, TIMEOUT_MILLIS) }
        near = End(connected)
        far = End(accepted.get())
        near.fillReceives()
        far.fillReceives()
    }

    override fun close() = group.close()

    /** Makes the endpoints, whose receiver may be slow: the sender tries again as long as it has no receive. */
    private class Group :
        RdmaPassiveEndpointGroup<Group.Side>(
            TIMEOUT_MILLIS,
            PolledEnd.RECEIVES,
            1,
            PolledEnd.SENDS + PolledEnd.RECEIVES,
        ),
        RdmaEndpointFactory<Group.Side> {
        init {
            connParam.setRnr_retry_count(FOR_EVER)
            connParam.setRetry_count(FOR_EVER)
        }

        override fun createEndpoint(
            id: RdmaCmId,
            isServer: Boolean,
        ) = Side(this, id, isServer)

        /** An endpoint: its constructor is for subclasses alone. */
        class Side(
            group: Group,
            id: RdmaCmId,
            isServer: Boolean,
        ) : RdmaEndpoint(group, id, isServer)
    }

    /** One end. */
    class End(
        private val endpoint: RdmaEndpoint,
    ) : PolledEnd() {
        private val outgoing = register()
        private val postReceive = postReceive()
        private var postSend: SVCPostSend? = null
        private var size = 0
        private val completions = Array(BATCH) { IbvWC() }
        private val poll: SVCPollCq = endpoint.cqProvider.cq.poll(completions, BATCH)

        private fun register(): IbvMr =
            endpoint.registerMemory(ByteBuffer.allocateDirect(Exchange.LONGEST)).execute().free().mr

        private fun postReceive(): SVCPostRecv {
            val request = IbvRecvWR()
            request.setSg_list(pieces(register(), Exchange.LONGEST))
            return endpoint.postRecv(LinkedList(listOf(request)))
        }

        private fun postSend(bytes: Int): SVCPostSend {
            val request = IbvSendWR()
            request.setOpcode(IbvSendWR.IBV_WR_SEND)
            request.setSend_flags(IbvSendWR.IBV_SEND_SIGNALED)
            request.setSg_list(pieces(outgoing, bytes))
            return endpoint.postSend(LinkedList(listOf(request)))
        }

        private fun pieces(
            memory: IbvMr,
            bytes: Int,
        ): LinkedList<IbvSge> {
            val piece = IbvSge()
            piece.setAddr(memory.addr)
            piece.setLength(bytes)
            piece.setLkey(memory.lkey)
            return LinkedList(listOf(piece))
        }

        /** All messages arrive in the same memory: what they cost is measured, not what they say. */
        override fun fillReceives() = repeat(RECEIVES) { postReceive.execute() }

        override fun post(bytes: Int) {
            if (size != bytes) {
                size = bytes
                postSend?.free()
                postSend = postSend(bytes)
            }
            checkNotNull(postSend).execute()
        }

        override fun take(
            forSends: Boolean,
            forReceives: Boolean,
        ): Int {
            val found = poll.execute().polls
            for (i in 0..<found) {
                val completion = completions[i]
                check(completion.status == 0) { "DiSNI: a request ended with status ${completion.status}" }
                if (completion.opcode and RECEIVED != 0) {
                    received++
                    postReceive.execute()
                } else {
                    sent++
                }
            }
            return found
        }
    }

    private companion object {
        const val TIMEOUT_MILLIS = 10_000
        const val FOR_EVER: Byte = 7

        /** The bit of IBV_WC_RECV. */
        const val RECEIVED = 128
    }
}
