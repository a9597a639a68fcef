package org.kverbs.coroutines

import kotlinx.io.Buffer
import kotlinx.io.IOException
import kotlinx.io.RawSource
import org.kverbs.RdmaException
import java.io.InterruptedIOException

/** Reads messages as a stream of bytes; see [asSource]. */
internal class MessageSource(
    private val connection: MessageConnection,
) : RawSource {
    /** The unread rest of the last message. */
    private val rest = Buffer()
    private var isClosed = false

    override fun readAtMostTo(
        sink: Buffer,
        byteCount: Long,
    ): Long {
        require(byteCount >= 0) { "$byteCount bytes can't be read; give 0 or more" }
        check(!isClosed) { "the source was closed: read before the close" }
        if (byteCount == 0L) return 0
        while (rest.exhausted()) {
            rest.write(streaming { connection.receiveOrNull() } ?: return -1)
        }
        return rest.readAtMostTo(sink, byteCount)
    }

    override fun close() {
        isClosed = true
    }
}

/** Runs a suspend function on a thread that it can block, and throws the exceptions of streams. */
internal fun <T> streaming(block: suspend () -> T): T =
    try {
        blocking(block)
    } catch (e: RdmaException) {
        throw IOException(e.message, e)
    } catch (e: IllegalArgumentException) {
        throw IOException(e.message, e)
    } catch (_: InterruptedException) {
        Thread.currentThread().interrupt()
        throw InterruptedIOException("the thread was interrupted while it waited for the peer")
    }
