package org.kverbs.cli

import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError

/** Ends the command with its usage and the reason why [parameter], such as `--size`, can't be what it is. */
internal fun CoreCliktCommand.wrong(
    parameter: String,
    message: String,
): Nothing = throw UsageError("invalid value for $parameter: $message").also { it.context = currentContext }
