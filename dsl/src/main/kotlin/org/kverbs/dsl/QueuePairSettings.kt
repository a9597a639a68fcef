package org.kverbs.dsl

import org.kverbs.CompletionQueue
import org.kverbs.QueuePairInitAttributes
import org.kverbs.ReceiveIndirectionTable
import org.kverbs.SharedReceiveQueue
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.RxHash

/** Builds the settings that queue pairs of all types have. Valid only inside its block. */
@RdmaDsl
public open class QueuePairSettings internal constructor() {
    private var sendCq: CompletionQueue? = null
    private var recvCq: CompletionQueue? = null
    private var chooseCq: ((Int, Int) -> CompletionQueue)? = null
    private var srq: SharedReceiveQueue? = null
    private var maxSendWr: Int? = null
    private var maxRecvWr: Int? = null
    private var maxSendSge = QueuePairInitAttributes.DEFAULT_CAPABILITIES.maxSendSge()
    private var maxRecvSge: Int? = null
    private var maxInlineData = QueuePairInitAttributes.DEFAULT_CAPABILITIES.maxInlineData()
    private var signalAll = false
    private var extended = false
    private val features = mutableSetOf<Feature>()
    private var maxTsoHeader = 0
    private var spreading: Spreading? = null

    /**
     * Sets the completion queue of send requests, and also of receive requests unless [recvCq] sets another. Required,
     * unless [cq] is called.
     */
    public fun sendCq(cq: CompletionQueue) {
        sendCq = cq
    }

    /** Sets the completion queue of receive requests. Default: the one of send requests. */
    public fun recvCq(cq: CompletionQueue) {
        recvCq = cq
    }

    /** Sets one completion queue for send and receive requests. Replaces an earlier [sendCq] or [recvCq]. */
    public fun cq(cq: CompletionQueue) {
        sendCq(cq)
        recvCq(cq)
    }

    /**
     * Chooses one completion queue for send and receive requests when the sizes are known. [choose] gets the numbers of
     * send and of receive requests that can be outstanding. An explicit [sendCq] or [recvCq] takes precedence.
     */
    public fun cq(choose: (sends: Int, receives: Int) -> CompletionQueue) {
        chooseCq = choose
    }

    /** Makes the queue pair take receives from a shared receive queue. Default: a receive queue of its own. */
    public fun srq(srq: SharedReceiveQueue) {
        this.srq = srq
    }

    /** Sets the number of send requests that can be outstanding. Default: 128. */
    public fun maxSendWr(count: Int) {
        maxSendWr = count
    }

    /** Sets the number of receive requests that can be posted. Default: 128. Excluded by [srq]. */
    public fun maxRecvWr(count: Int) {
        maxRecvWr = count
    }

    /** Sets the number of buffers of a send request. Default: 1. */
    public fun maxSendSge(count: Int) {
        maxSendSge = count
    }

    /** Sets the number of buffers of a receive request. Default: 1. Excluded by [srq]. */
    public fun maxRecvSge(count: Int) {
        maxRecvSge = count
    }

    /** Sets the number of bytes that a request can carry inline. Default: 0, since devices have different limits. */
    public fun maxInlineData(bytes: Int) {
        maxInlineData = bytes
    }

    /**
     * Makes every send request that succeeds complete with a completion, as if it were signaled. Default: only signaled
     * ones do.
     */
    public fun signalAll() {
        signalAll = true
    }

    /**
     * Makes the queue pair and posts its sends by the extended calls: see [QueuePairInitAttributes.extended]. Default:
     * the plain calls.
     *
     * @param features operations beside the usual ones, which only an RC queue pair made by these calls has:
     *   `extended(Feature.ATOMIC_WRITE, Feature.FLUSH)`
     */
    public fun extended(vararg features: Feature) {
        extended = true
        this.features += features
    }

    /**
     * Makes room for headers of at most [bytes] bytes, so that the device cuts sends into TCP segments:
     * `sendSegmented`. See [QueuePairInitAttributes.maxTsoHeader]. Needs the type RAW_PACKET or UD. Default: no such
     * sends.
     */
    public fun maxTsoHeader(bytes: Int) {
        maxTsoHeader = bytes
    }

    /**
     * Makes the queue pair spread the frames that it receives over the work queues of a table, by a hash of the fields
     * that the block names: `rxHash(table) { fields(SRC_IPV4, DST_IPV4) }`. See [QueuePairInitAttributes.spreading].
     * Needs the type RAW_PACKET, or another one for which the device has tables. Excludes queues of its own: [cq] and
     * the sizes.
     */
    public fun rxHash(
        table: ReceiveIndirectionTable,
        block: RxHashBuilder.() -> Unit,
    ) {
        spreading = Spreading(table, RxHashBuilder().apply(block).build())
    }

    internal fun build(type: QueuePairType): QueuePairInitAttributes {
        spreading?.let { return it.build(type) }
        requireNoReceiveQueueBesideShared()
        val hasReceives = srq == null && type != QueuePairType.XRC_SEND
        require(type != QueuePairType.XRC_SEND || (maxRecvWr == null && maxRecvSge == null)) {
            "an XRC_SEND queue pair receives nothing: leave out maxRecvWr and maxRecvSge"
        }
        val defaults = QueuePairInitAttributes.DEFAULT_CAPABILITIES
        val maxSendWr = maxSendWr ?: defaults.maxSendWr()
        val maxReceives = if (hasReceives) maxRecvWr ?: defaults.maxRecvWr() else 0
        val chosen = if (sendCq == null || recvCq == null) chooseCq?.invoke(maxSendWr, maxReceives) else null
        val sends = requireNotNull(sendCq ?: chosen) { "sendCq is missing: say sendCq(cq)" }
        val receives = recvCq ?: chosen ?: sends
        val capabilities =
            QueuePairCapabilities(
                maxSendWr,
                maxReceives,
                maxSendSge,
                if (hasReceives) maxRecvSge ?: defaults.maxRecvSge() else 0,
                maxInlineData,
            )
        return QueuePairInitAttributes(type, sends, receives, srq, capabilities, signalAll, extended, features)
            .withMaxTsoHeader(maxTsoHeader)
    }

    private fun Spreading.build(type: QueuePairType): QueuePairInitAttributes {
        val own =
            mapOf(
                "cq" to (sendCq ?: recvCq ?: chooseCq),
                "srq" to srq,
                "maxSendWr" to maxSendWr,
                "maxRecvWr" to maxRecvWr,
                "maxRecvSge" to maxRecvSge,
                "extended" to extended.takeIf { it },
                "maxTsoHeader" to maxTsoHeader.takeIf { it != 0 },
            ).filterValues { it != null }.keys
        require(own.isEmpty()) {
            "rxHash(...) and $own exclude each other: the queue pair sends nothing and receives into the work queues"
        }
        val of = QueuePairInitAttributes.spreading(table, hash)
        return QueuePairInitAttributes(
            type,
            of.sendCq(),
            of.recvCq(),
            null,
            of.capabilities(),
            signalAll,
            false,
            emptySet(),
            table,
            hash,
        )
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

/** A table, and the hash that chooses among its work queues. */
private class Spreading(
    val table: ReceiveIndirectionTable,
    val hash: RxHash,
)
