package org.kverbs.management.agent

/**
 * Answers the requests of other ports. It can suspend. A request that it does not answer gets none, and its sender asks
 * again.
 */
public fun interface RequestHandler {
    /** Answers [request] by one of its functions. */
    public suspend fun handle(request: ReceivedRequest)
}
