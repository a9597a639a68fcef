package org.kverbs.ibtool.services

import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.readText

/** What this machine says of itself to those that ask. */
internal object LocalHost {
    private const val MOST_CPUS = 256
    private const val UNKNOWN = "unknown"

    /** The name of the host. */
    fun host(): String = kernel("hostname") ?: "?hostname?"

    /** The name of the host and, behind a dot, that of its domain. */
    fun name(): String {
        val host = host()
        val domain = kernel("domainname") ?: "?domainname?"
        return if (domain.isEmpty()) host else "$host.$domain"
    }

    private fun kernel(name: String): String? = read("/proc/sys/kernel/$name")?.trim()

    /** A line for each processor. */
    fun processors(): String = processors(read("/proc/cpuinfo").orEmpty())

    /** A line for each processor of the kernel's list [text]. */
    fun processors(text: String): String {
        val blocks = text.split(Regex("(?m)^(?=processor\\t)")).filter { it.startsWith("processor\t") }
        return blocks.take(MOST_CPUS).withIndex().joinToString("") { (number, block) ->
            "cpu $number: model ${value(block, "model name")} MHZ ${value(block, "cpu MHz")}\n"
        }
    }

    /** The value with the blank before it, as infiniband-diags sends it. */
    private fun value(
        block: String,
        name: String,
    ): String = block.lines().firstOrNull { it.startsWith("$name\t") }?.substringAfter(':') ?: UNKNOWN

    private fun read(path: String): String? =
        try {
            Path.of(path).readText()
        } catch (_: IOException) {
            null
        }
}
