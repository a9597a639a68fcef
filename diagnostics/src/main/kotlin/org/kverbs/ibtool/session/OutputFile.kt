package org.kverbs.ibtool.session

import java.nio.file.Files
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.Path

/** The files that options name and commands write. */
internal object OutputFile {
    /**
     * Returns [file] if it is a plain file, or not there yet. Commands often run as root: a link could lead to any file
     * of the machine, and a device or pipe is not replaced but written to.
     *
     * @throws DiagnosticException if it is something else
     */
    fun checked(
        option: String,
        file: Path,
    ): Path {
        val shown = printable("$file")
        if (Files.isSymbolicLink(file)) {
            throw DiagnosticException("$option $shown is a symbolic link: name the file itself")
        }
        if (Files.exists(file, NOFOLLOW_LINKS) && !Files.isRegularFile(file, NOFOLLOW_LINKS)) {
            val kind = if (Files.isDirectory(file)) "a folder" else "a device or a pipe"
            throw DiagnosticException("$option $shown is $kind: name a plain file, or a new one")
        }
        return file
    }
}
