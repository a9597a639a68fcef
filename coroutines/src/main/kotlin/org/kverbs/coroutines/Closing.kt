package org.kverbs.coroutines

/**
 * Closes all in this order, also what stands behind one that throws. What they throw is kept with [cause]; without a
 * cause the first of it is thrown, with the others suppressed.
 */
internal fun closeAll(
    vararg resources: AutoCloseable?,
    cause: Throwable? = null,
) {
    var first = cause
    for (resource in resources) {
        try {
            resource?.close()
        } catch (e: RuntimeException) {
            if (first == null) first = e else first.addSuppressed(e)
        }
    }
    if (cause == null && first != null) throw first
}
