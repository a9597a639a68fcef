package org.kverbs.coroutines

import org.kverbs.QueuePair
import org.kverbs.attributes.QueuePairState
import org.kverbs.dsl.modify

/**
 * Closes all [resources] in this order, even if some throw. Adds their exceptions to [cause] as suppressed ones;
 * without a cause throws the first of them, with the others suppressed.
 */
internal fun closeAll(
    vararg resources: AutoCloseable?,
    cause: Throwable? = null,
) {
    var first = cause
    for (resource in resources) {
        try {
            resource?.close()
        } catch (e: Throwable) {
            if (first == null) first = e else first.addSuppressed(e)
        }
    }
    if (cause == null && first != null) throw first
}

/**
 * Moves the queue pair to the error state, after an Error of a post: nobody knows whether the device has the request.
 * The device completes what it has, also that one.
 */
internal fun QueuePair.breakUp() {
    try {
        modify { state(QueuePairState.ERR) }
    } catch (_: RuntimeException) {
        // closed meanwhile
    }
}
