package org.kverbs.coroutines

import org.kverbs.Diagnostics

/** Remembers what is opened in the block and not closed. */
suspend fun diagnosed(block: suspend () -> Unit) {
    Diagnostics.enable()
    try {
        block()
    } finally {
        Diagnostics.disable()
    }
}
