package org.kverbs.benchmarks.bench

/**
 * Two connected ends in one process, each for a thread of its own: [ask] and [send] belong to the near end, [answer]
 * and [receive] to the far one. Each call of the near end meets one of the far end with the same arguments. A message
 * has at most [LONGEST] bytes. Errors are exceptions; the thread of the other end then waits until its process ends.
 */
internal interface Exchange : AutoCloseable {
    /** Sends so many messages one after the other, and waits for the answer to each. */
    fun ask(
        bytes: Int,
        count: Int,
    )

    /** Sends each message back, so many of them. */
    fun answer(
        bytes: Int,
        count: Int,
    )

    /** Sends so many messages, several at a time. Returns when none needs the sender any more. */
    fun send(
        bytes: Int,
        count: Int,
    )

    /** Receives so many messages. Returns when all have come. */
    fun receive(
        bytes: Int,
        count: Int,
    )

    companion object {
        /** The bytes of the longest message. */
        const val LONGEST = 1 shl 20
    }
}
