package org.kverbs.management.transport

/** Closes all in this order, also those after one that cannot be closed, and throws what the first one threw. */
internal fun closeAll(vararg resources: AutoCloseable) {
    var failure: RuntimeException? = null
    for (resource in resources) {
        try {
            resource.close()
        } catch (e: RuntimeException) {
            failure?.addSuppressed(e) ?: run { failure = e }
        }
    }
    failure?.let { throw it }
}
