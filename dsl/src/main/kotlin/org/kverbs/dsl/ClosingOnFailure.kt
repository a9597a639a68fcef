package org.kverbs.dsl

import org.kverbs.Resource

/** Returns what [steps] make of a new resource; closes it if they fail. */
internal inline fun <R : Resource, T> R.closingOnFailure(steps: (R) -> T): T {
    try {
        return steps(this)
    } catch (e: Throwable) {
        try {
            close()
        } catch (second: RuntimeException) {
            e.addSuppressed(second)
        }
        throw e
    }
}
