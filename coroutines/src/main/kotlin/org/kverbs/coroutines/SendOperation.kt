package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionOpcode
import org.kverbs.dsl.Destination

/** The operation of a request. An enum instead of a lambda, which would be a new object for each call. */
internal enum class SendOperation(
    opcode: WorkCompletionOpcode,
) {
    SEND(WorkCompletionOpcode.SEND),
    SEND_WITH_IMMEDIATE(WorkCompletionOpcode.SEND),
    SEND_WITH_INVALIDATE(WorkCompletionOpcode.SEND),
    WRITE(WorkCompletionOpcode.RDMA_WRITE),
    WRITE_WITH_IMMEDIATE(WorkCompletionOpcode.RDMA_WRITE),
    READ(WorkCompletionOpcode.RDMA_READ),
    ;

    /** The opcode of the completion, an `enum ibv_wc_opcode`. */
    val code: Int = opcode.code()

    /**
     * Writes a request.
     *
     * @param local the bytes of this side; null for none
     * @param address the peer's address, if the operation has one, with [rkey]; [rkey] is also the key to invalidate
     * @param immediate 32 bits in host byte order, if the operation has them
     * @param to the destination of a datagram
     * @param srq the number of the peer's shared receive queue over XRC, or [NO_QUEUE]
     */
    fun write(
        requests: SendRequests,
        id: Long,
        local: MemorySlice?,
        address: Long,
        rkey: Int,
        immediate: Int,
        to: Destination?,
        srq: Int,
    ) {
        when (this) {
            SEND -> requests.send(id)
            SEND_WITH_IMMEDIATE -> requests.sendWithImmediate(id, immediate)
            SEND_WITH_INVALIDATE -> requests.sendWithInvalidate(id, rkey)
            WRITE -> requests.write(id, address, rkey)
            WRITE_WITH_IMMEDIATE -> requests.writeWithImmediate(id, address, rkey, immediate)
            READ -> requests.read(id, address, rkey)
        }
        if (local != null) requests.from(local) // a read fills the same entry
        if (to != null) requests.to(to.address, to.queuePairNumber, to.qkey)
        if (srq != NO_QUEUE) requests.toSharedReceiveQueue(srq)
    }

    companion object {
        /** Stands for the number of a shared receive queue where the transport has none. No queue has this number. */
        const val NO_QUEUE: Int = Int.MIN_VALUE
    }
}
