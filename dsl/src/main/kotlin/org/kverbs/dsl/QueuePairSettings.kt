package org.kverbs.dsl

import org.kverbs.CompletionQueue
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SharedReceiveQueue
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType

/** What queue pairs of every type are made from. Mutable within its block; nothing of it is kept. */
@RdmaDsl
public open class QueuePairSettings internal constructor() {
    private var sendCq: CompletionQueue? = null
    private var recvCq: CompletionQueue? = null
    private var chooseCq: ((Int, Int) -> CompletionQueue)? = null
    private var srq: SharedReceiveQueue? = null
    private var maxSendWr = QueuePairInitAttributes.DEFAULT_CAPABILITIES.maxSendWr()
    private var maxRecvWr: Int? = null
    private var maxSendSge = QueuePairInitAttributes.DEFAULT_CAPABILITIES.maxSendSge()
    private var maxRecvSge: Int? = null
    private var maxInlineData = QueuePairInitAttributes.DEFAULT_CAPABILITIES.maxInlineData()
    private var signalAll = false
    private var extended = false

    /** Where send requests complete, and receive requests, too, unless [recvCq] says otherwise; required. */
    public fun sendCq(cq: CompletionQueue) {
        sendCq = cq
    }

    /** Where receive requests complete; default is where send requests do. */
    public fun recvCq(cq: CompletionQueue) {
        recvCq = cq
    }

    /** One completion queue for both, also after an earlier [recvCq]. */
    public fun cq(cq: CompletionQueue) {
        sendCq(cq)
        recvCq(cq)
    }

    /**
     * One completion queue for both, chosen when the sizes are known: [choose] gets how many send and how many receive
     * requests can be under way.
     */
    public fun cq(choose: (sends: Int, receives: Int) -> CompletionQueue) {
        chooseCq = choose
    }

    /** Takes receives from a shared queue; default is a receive queue of its own. */
    public fun srq(srq: SharedReceiveQueue) {
        this.srq = srq
    }

    /** Send requests in flight; default 128. */
    public fun maxSendWr(count: Int) {
        maxSendWr = count
    }

    /** Receive requests waiting; default 128, none with [srq]. */
    public fun maxRecvWr(count: Int) {
        maxRecvWr = count
    }

    /** Gather entries of a send request; default 1. */
    public fun maxSendSge(count: Int) {
        maxSendSge = count
    }

    /** Scatter entries of a receive request; default 1. */
    public fun maxRecvSge(count: Int) {
        maxRecvSge = count
    }

    /** Bytes that a request can carry in itself; default 0, since devices differ in what they can. */
    public fun maxInlineData(bytes: Int) {
        maxInlineData = bytes
    }

    /** Every send request makes a completion, as if it were signaled; default is that only signaled ones do. */
    public fun signalAll() {
        signalAll = true
    }

    /**
     * Makes it and posts sends by the extended calls: see [QueuePairInitAttributes.extended]; default is the plain
     * ones.
     */
    public fun extended() {
        extended = true
    }

    internal fun build(type: QueuePairType): QueuePairInitAttributes {
        requireNoReceiveQueueBesideShared()
        val defaults = QueuePairInitAttributes.DEFAULT_CAPABILITIES
        val maxReceives = if (srq == null) maxRecvWr ?: defaults.maxRecvWr() else 0
        val chosen = if (sendCq == null || recvCq == null) chooseCq?.invoke(maxSendWr, maxReceives) else null
        val sends = requireNotNull(sendCq ?: chosen) { "sendCq is missing: say sendCq(cq)" }
        val receives = recvCq ?: chosen ?: sends
        val capabilities =
            QueuePairCapabilities(
                maxSendWr,
                maxReceives,
                maxSendSge,
                if (srq == null) maxRecvSge ?: defaults.maxRecvSge() else 0,
                maxInlineData,
            )
        return QueuePairInitAttributes(type, sends, receives, srq, capabilities, signalAll, extended)
    }

    private fun requireNoReceiveQueueBesideShared() {
        if (srq == null) return
        require(maxRecvWr == null) {
            "srq(...) and maxRecvWr($maxRecvWr) exclude each other: the shared queue has its own size"
        }
        require(maxRecvSge == null) {
            "srq(...) and maxRecvSge($maxRecvSge) exclude each other: the shared queue has its own size"
        }
    }
}
