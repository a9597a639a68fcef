package org.kverbs.ibtool.session

import java.io.IOException
import java.io.OutputStream

/** Standard output that remembers when something could not be written, which a `PrintStream` does not tell. */
internal class StandardOutput(
    private val output: OutputStream,
) : OutputStream() {
    @Volatile
    private var failure: IOException? = null

    override fun write(byte: Int): Unit = write(byteArrayOf(byte.toByte()), 0, 1)

    override fun write(
        bytes: ByteArray,
        offset: Int,
        length: Int,
    ) {
        try {
            output.write(bytes, offset, length)
        } catch (e: IOException) {
            if (failure == null) failure = e
            throw e
        }
    }

    override fun flush(): Unit = output.flush()

    /**
     * The exit status of a program that would end with [status].
     *
     * @param complain says what could not be written; not if the reader of a pipe has ended, as `head` does
     */
    fun status(
        status: Int,
        complain: (String) -> Unit,
    ): Int {
        val failure = failure ?: return status
        if (failure.message.orEmpty().contains("Broken pipe")) return BROKEN_PIPE
        complain("standard output cannot be written: ${failure.message}")
        return if (status == 0) FAILED else status
    }

    private companion object {
        /** What a shell tells of a program that the signal SIGPIPE ended, as it ends programs in C. */
        private const val BROKEN_PIPE = 141
        private const val FAILED = 255
    }
}
