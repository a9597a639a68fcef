package org.kverbs.coroutines

import org.kverbs.WorkCompletion

/** Takes the completions of one queue of requests. Each request's id names the target and a request within it. */
internal interface CompletionTarget {
    /**
     * Takes the completion of a request. Only the polling thread calls it.
     *
     * @param request the low 32 bits of the request's id
     * @param completion valid until this returns or resumes a coroutine, which can take further completions
     */
    fun complete(
        request: Int,
        completion: WorkCompletion,
    )

    /** Ends all waits with [cause], as no completion will come any more. Any thread can call, any number of times. */
    fun fail(cause: Throwable)
}
