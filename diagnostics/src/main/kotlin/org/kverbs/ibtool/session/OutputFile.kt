package org.kverbs.ibtool.session

import java.io.IOException
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
        val folder = file.toAbsolutePath().parent
        if (folder != null && !Files.isDirectory(folder)) {
            throw DiagnosticException("$option $shown cannot be written: there is no folder ${printable("$folder")}")
        }
        return file
    }

    /**
     * Does [write], which writes [file].
     *
     * @param what the option or the argument that names the file
     * @throws DiagnosticException if it cannot be written
     */
    inline fun writing(
        what: String,
        file: Path,
        write: (Path) -> Unit,
    ): Unit =
        try {
            write(file)
        } catch (e: IOException) {
            throw DiagnosticException("$what ${printable("$file")} cannot be written: ${problemOf(e)}", cause = e)
        }
}
