package org.kverbs.coroutines

import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.internal.jfr.FlightRecords
import java.net.InetSocketAddress

/** The words behind a failure's message that name the peer of a connection; none where there is no connection. */
internal fun peerSuffix(peer: InetSocketAddress?): String = if (peer == null) "" else "; the peer is ${peer.shown()}"

/** A failed completion, whose message names the [peer] if the queue pair belongs to a connection. */
private class PeerFailure(
    completion: WorkCompletion,
    opcode: Int,
    private val peer: InetSocketAddress?,
) : WorkCompletionException(
        completion.rawStatus(),
        opcode,
        completion.vendorError(),
        completion.queuePairNumber(),
        completion.workRequestId(),
    ) {
    override val message: String? get() = super.message + peerSuffix(peer)

    override fun toString(): String = "${WorkCompletionException::class.java.name}: $message"
}

/**
 * Remembers the first failure of a queue pair, which becomes the cause of the requests flushed afterwards.
 *
 * @param dispatcher counts the failures, and names the device in the events of Flight Recorder; null in specs
 * @param onFailure called with the first failed completion, even if no caller waits for it; the polling thread calls it
 */
internal class Failures(
    private val dispatcher: CompletionDispatcher? = null,
    private val onFailure: (WorkCompletionException) -> Unit = {},
) {
    private var isTold = false

    /** The peer of the connection that the queue pair belongs to; the failures name it. */
    @Volatile
    var peer: InetSocketAddress? = null

    @Volatile
    private var first: WorkCompletionException? = null

    /**
     * Returns the exception for a failed completion.
     *
     * @param opcode the request's `enum ibv_wc_opcode`, from its poster: devices leave it out of failed completions
     */
    fun of(
        completion: WorkCompletion,
        opcode: Int,
    ): WorkCompletionException {
        val failure = PeerFailure(completion, opcode, peer)
        if (failure.status() != WorkCompletionStatus.WR_FLUSH_ERR) {
            if (first == null) first = failure
            dispatcher?.countFailure()
            val operation = failure.opcode().takeIf { it != WorkCompletionOpcode.UNKNOWN }?.name
            FlightRecords.completionError(
                dispatcher?.context?.device()?.name(),
                failure.queuePairNumber(),
                failure.workRequestId(),
                failure.status().name,
                operation,
                failure.vendorError(),
            )
        } else {
            first?.let(failure::initCause)
        }
        if (!isTold) {
            isTold = true
            onFailure(failure)
        }
        return failure
    }
}
