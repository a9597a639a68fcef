package org.kverbs.coroutines

import org.kverbs.WorkCompletion

/** Where the completions of one queue of requests go: each request's id names the target and a request within it. */
internal interface CompletionTarget {
    /**
     * A request has ended. Called by the polling thread alone.
     *
     * @param request the low 32 bits of the request's id
     * @param completion good until this returns
     */
    fun complete(
        request: Int,
        completion: WorkCompletion,
    )

    /** No completion will come any more: ends all waits with [cause]. Any thread, any number of times. */
    fun fail(cause: Throwable)
}
