package org.kverbs.cli.pingpong

/** An option that the device can't fulfil. The message says what it can. */
class UnfitOptionException(
    /** The option as it stands on the command line: `--size`. */
    val option: String,
    message: String,
    cause: Throwable? = null,
) : IllegalArgumentException(message, cause)
