package org.kverbs.coroutines

import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus

/**
 * What went wrong first on a queue pair: what is flushed afterwards tells it as its cause.
 *
 * @param onFailure told of the first failure, which nobody may wait for; the polling thread calls it
 */
internal class Failures(
    private val onFailure: (WorkCompletionException) -> Unit = {},
) {
    private var isTold = false

    @Volatile
    private var first: WorkCompletionException? = null

    /**
     * The exception for a failed completion.
     *
     * @param opcode what the poster knows the request was, an `enum ibv_wc_opcode`: devices leave it out of failed
     *     completions
     */
    fun of(
        completion: WorkCompletion,
        opcode: Int,
    ): WorkCompletionException {
        val failure =
            WorkCompletionException(
                completion.rawStatus(),
                opcode,
                completion.vendorError(),
                completion.queuePairNumber(),
                completion.workRequestId(),
            )
        if (failure.status() != WorkCompletionStatus.WR_FLUSH_ERR) {
            if (first == null) first = failure
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
