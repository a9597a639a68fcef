package org.kverbs.cli

import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError
import java.nio.file.Path
import kotlin.io.path.exists
import kotlin.io.path.isDirectory

/** Ends the command with its usage and the reason why [parameter], such as `--size`, can't be what it is. */
internal fun CoreCliktCommand.wrong(
    parameter: String,
    message: String,
): Nothing = throw UsageError("invalid value for $parameter: $message").also { it.context = currentContext }

/** Refuses a [file] of an option that is a folder, that has no folder, or that is there and can't be replaced. */
internal fun CoreCliktCommand.requireFree(
    option: String,
    file: String,
    isForced: Boolean,
) {
    val path = Path.of(file).toAbsolutePath()
    when {
        path.isDirectory() -> wrong(option, "$file is a folder")
        !path.parent.isDirectory() -> wrong(option, "there is no folder ${path.parent}")
        path.exists() && !isForced -> wrong(option, "there is a file $file; give --force to replace it")
    }
}
