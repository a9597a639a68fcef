package org.kverbs.coroutines

import org.kverbs.Diagnostics

/** Runs a block and returns the resources that it opened and did not close. */
suspend fun diagnosed(block: suspend () -> Unit) {
    Diagnostics.enable()
    try {
        block()
    } finally {
        Diagnostics.disable()
    }
}
