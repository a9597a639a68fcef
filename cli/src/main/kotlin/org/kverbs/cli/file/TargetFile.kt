package org.kverbs.cli.file

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.AccessDeniedException
import java.nio.file.FileSystemException
import java.nio.file.NoSuchFileException
import java.nio.file.Path
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.CREATE_NEW
import java.nio.file.StandardOpenOption.READ
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.attribute.PosixFilePermission
import java.nio.file.attribute.PosixFilePermission.OWNER_READ
import java.nio.file.attribute.PosixFilePermission.OWNER_WRITE
import java.nio.file.attribute.PosixFilePermissions.asFileAttribute
import kotlin.io.path.Path
import kotlin.io.path.deleteIfExists
import kotlin.io.path.exists
import kotlin.io.path.isRegularFile
import kotlin.io.path.isSymbolicLink
import kotlin.io.path.isWritable
import kotlin.io.path.moveTo
import kotlin.io.path.name
import kotlin.io.path.readAttributes
import kotlin.io.path.readSymbolicLink
import kotlin.io.path.setAttribute
import kotlin.random.Random

/**
 * The file that a copy goes to, as `cp` treats it. A link is followed. A file that exists gets new contents and keeps
 * its mode, its owner and its hard links. A new file gets the mode of its source, less the umask.
 *
 * Contents arrive in another file: beside it, or in the folder for temporary files where only an existing file may be
 * written and not its folder. So a failed transfer changes nothing. The other file then takes the place of an old one,
 * unless that has several names, or its owner or folder forbids it. Such a file is written itself; if that fails
 * halfway, the other file stays, and the message names it.
 *
 * @throws IOException if something that is no regular file has the name, or a file that this process may not write;
 *     touches nothing then
 */
internal class TargetFile(
    named: Path,
) {
    private val path = followed(named)
    private val part =
        "${path.name}.${Random.nextLong().toHexString()}.part".let {
            if (path.exists() && !path.parent.isWritable()) Path(TEMPORARY, it) else path.resolveSibling(it)
        }
    private var isNeeded = false

    /** Puts what [receive] writes into this file, if it returns true. [sourceMode] is for a new file. */
    suspend fun write(
        sourceMode: Set<PosixFilePermission>,
        receive: suspend (FileChannel) -> Boolean,
    ) {
        val mode = asFileAttribute(if (path.exists()) setOf(OWNER_READ, OWNER_WRITE) else sourceMode)
        val file = FileChannel.open(part, setOf(CREATE_NEW, READ, WRITE), mode)
        try {
            file.use { if (receive(it)) finishing.withLock { withContext(Dispatchers.IO) { finish(it) } } }
        } finally {
            if (!isNeeded) part.deleteIfExists()
        }
    }

    private fun finish(received: FileChannel) {
        if (!path.exists()) {
            part.moveTo(path)
            return
        }
        requireFile(path)
        if (!replaced()) FileChannel.open(path, WRITE).use { overwrite(it, received) }
    }

    /** Puts the new file, with the old one's owner and mode, in its place; returns false where that can't be done. */
    private fun replaced(): Boolean {
        if (part.parent != path.parent || path.isSymbolicLink()) return false
        val old = path.readAttributes("unix:nlink,uid,gid,mode")
        if (old["nlink"] != 1) return false
        return try {
            // The mode last: a new owner takes bits from it.
            for (name in listOf("uid", "gid", "mode")) part.setAttribute("unix:$name", old[name])
            part.moveTo(path, ATOMIC_MOVE)
            true
        } catch (_: FileSystemException) {
            false
        }
    }

    /** Appends first what makes the file longer: when the disk is full, the old contents are still there. */
    private fun overwrite(
        old: FileChannel,
        received: FileChannel,
    ) {
        val size = received.size()
        val before = old.size()
        try {
            copy(received, before, size, old)
        } catch (e: IOException) {
            old.truncate(before)
            throw e
        }
        try {
            copy(received, 0, minOf(before, size), old)
            old.truncate(size)
        } catch (e: IOException) {
            isNeeded = true
            throw IOException("$path is half written (${reason(e)}); $part has what was sent", e)
        }
    }

    private fun copy(
        from: FileChannel,
        begin: Long,
        end: Long,
        to: FileChannel,
    ) {
        to.position(begin)
        var at = begin
        while (at < end) {
            val moved = from.transferTo(at, end - at, to)
            if (moved == 0L) throw IOException("$part was shortened by another program")
            at += moved
        }
    }

    private companion object {
        val TEMPORARY: String = System.getProperty("java.io.tmpdir")

        /** Clients that send to one file write it one after the other. */
        val finishing = Mutex()

        fun followed(named: Path): Path {
            if (named.exists()) return named.toRealPath().also(::requireFile)
            if (named.isSymbolicLink()) {
                throw IOException("$named is a link to ${named.readSymbolicLink()}, which does not exist")
            }
            return named
        }

        fun requireFile(path: Path) {
            // Before anything opens it: opening a FIFO waits for its other end, and opening a device may do anything.
            if (!path.isRegularFile()) throw IOException("$path is no regular file")
            if (!path.isWritable()) throw AccessDeniedException("$path")
        }
    }
}

/** Returns the reason why a file can't be used. The message of some exceptions about files is the file's name alone. */
internal fun reason(e: IOException): String =
    when (e) {
        is NoSuchFileException -> "${e.file} can't be created there"
        is AccessDeniedException -> "${e.file}: permission denied"
        else -> e.message ?: e.toString()
    }
