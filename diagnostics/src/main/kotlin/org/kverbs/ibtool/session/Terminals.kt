package org.kverbs.ibtool.session

import java.nio.file.Files
import java.nio.file.Path

/** Which of the standard streams of this process are terminals. */
internal object Terminals {
    private val names = listOf("/dev/pts/", "/dev/tty", "/dev/console")

    /**
     * Returns whether a stream is a terminal, by its number. Java tells it of input and output together, in 20 ms, and
     * of errors not at all.
     */
    fun has(descriptor: Int): Boolean {
        val link = Path.of("/proc/self/fd/$descriptor")
        if (!Files.isSymbolicLink(link)) return false
        val target = "${Files.readSymbolicLink(link)}"
        return names.any(target::startsWith)
    }
}
