package org.kverbs.ibtool.session

import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.ArgumentDelegate
import com.github.ajalt.clikt.parameters.options.OptionDelegate
import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path

/** A saved topology: it can be compared with a file that is written anew then. */
private const val TOPOLOGY = "topology"

private val kinds = listOf("--load-cache", "--cache", "--diff", "<cache>").associateWith { TOPOLOGY }
private val written = setOf("--cache", "--pcap", "--picture", "<cache>", "<topology-file>", "<file>")
private val read = setOf("--fabric", "--node-name-map")

/** Refuses a command line that would write over a file which it names for something else, too. */
internal fun CoreCliktCommand.requireDistinctFiles() {
    val options =
        registeredOptions().filterIsInstance<OptionDelegate<*>>().mapNotNull { option ->
            val name = option.names.maxBy { it.length }
            path(option.value, isText = name in read)?.let { name to it }
        }
    val arguments =
        registeredArguments().filterIsInstance<ArgumentDelegate<*>>().mapNotNull { argument ->
            path(argument.value, isText = false)?.let { "<${argument.name}>" to it }
        }
    val all = options + arguments
    for ((_, file) in all) {
        val named = all.filter { isSame(it.second, file) }.map { it.first }
        if (named.none { it in written } || named.distinctBy { kinds[it] ?: it }.size == 1) continue
        throw UsageError(
            "${named.joinToString(" and ")} name one file, ${printable("$file")}: give each a file of its own",
        )
    }
}

private fun path(
    value: Any?,
    isText: Boolean,
): Path? = (value as? Path ?: (value as? String)?.takeIf { isText }?.let(Path::of))?.toAbsolutePath()?.let(::real)

/** The file behind links. Of a file that is not there yet its folder can be behind some. */
private fun real(file: Path): Path {
    val folder = file.parent ?: return file
    return try {
        if (Files.exists(file)) file.toRealPath() else folder.toRealPath().resolve(file.fileName).normalize()
    } catch (_: IOException) {
        val plain = file.normalize()
        if (plain == file) file else real(plain)
    }
}

/** Whether two paths lead to one file, by hard links, too. */
private fun isSame(
    one: Path,
    other: Path,
): Boolean =
    try {
        one == other || (Files.exists(one) && Files.exists(other) && Files.isSameFile(one, other))
    } catch (_: IOException) {
        false
    }
