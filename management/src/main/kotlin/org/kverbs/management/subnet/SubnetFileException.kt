package org.kverbs.management.subnet

import org.kverbs.RdmaException

/** A file is no saved subnet, or is damaged, or of a version that this program does not know. */
public class SubnetFileException internal constructor(
    message: String,
    cause: Throwable? = null,
) : RdmaException(message) {
    init {
        if (cause != null) initCause(cause)
    }
}
