package org.kverbs.coroutines

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
