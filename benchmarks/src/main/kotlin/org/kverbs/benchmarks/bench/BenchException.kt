package org.kverbs.benchmarks.bench

/** A measurement failed; the message says which, and why. */
internal class BenchException(
    message: String,
    cause: Throwable? = null,
) : Exception(message, cause)
