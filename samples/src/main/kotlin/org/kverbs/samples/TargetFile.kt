package org.kverbs.samples

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.AccessDeniedException
import java.nio.file.NoSuchFileException
import java.nio.file.Path
import java.nio.file.StandardOpenOption.CREATE_NEW
import java.nio.file.StandardOpenOption.READ
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.attribute.PosixFilePermission
import java.nio.file.attribute.PosixFilePermission.OWNER_READ
import java.nio.file.attribute.PosixFilePermission.OWNER_WRITE
import java.nio.file.attribute.PosixFilePermissions.asFileAttribute
import kotlin.io.path.deleteIfExists
import kotlin.io.path.exists
import kotlin.io.path.isRegularFile
import kotlin.io.path.isSymbolicLink
import kotlin.io.path.isWritable
import kotlin.io.path.moveTo
import kotlin.io.path.name
import kotlin.io.path.readSymbolicLink
import kotlin.random.Random

/**
 * The file that a copy goes to, as `cp` treats it. A link is followed. A file that exists gets new contents and keeps
 * its mode, its owner and its hard links. A new file gets the mode of its source, less the umask. Contents arrive in a
 * file beside it, so that a failed transfer changes nothing.
 *
 * @throws IOException if something that is no regular file has the name, or a file that this process may not write;
 *     touches nothing then
 */
internal class TargetFile(
    named: Path,
) {
    private val path = followed(named)
    private val part = path.resolveSibling("${path.name}.${Random.nextLong().toHexString()}.part")

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
            part.deleteIfExists()
        }
    }

    private fun finish(received: FileChannel) {
        if (!path.exists()) {
            part.moveTo(path)
            return
        }
        requireFile(path)
        FileChannel.open(path, WRITE).use { old ->
            val size = received.size()
            var done = 0L
            while (done < size) done += received.transferTo(done, size - done, old)
            old.truncate(size)
        }
    }

    private companion object {
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

/** Why a file can't be used. The message of some exceptions about files is the file's name alone. */
internal fun reason(e: IOException): String =
    when (e) {
        is NoSuchFileException -> "${e.file} can't be created there"
        is AccessDeniedException -> "${e.file}: permission denied"
        else -> e.message ?: e.toString()
    }
