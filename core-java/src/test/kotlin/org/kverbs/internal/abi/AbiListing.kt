package org.kverbs.internal.abi

import java.lang.reflect.Modifier

/** One generated constant and the C expression that it must equal. */
internal data class AbiEntry(
    val className: String,
    val constant: String,
    val expression: String,
) {
    val name: String get() = "$className.$constant"

    /** The value in the generated class, or null when there is no such constant. */
    fun javaValue(): Long? = abiConstants(className)[constant]
}

/** The listing of the generator: the headers, and the C expression of every constant. */
internal class AbiListing(
    val headers: List<String>,
    val entries: List<AbiEntry>,
) {
    companion object {
        fun committed(): AbiListing {
            val resource = AbiListing::class.java.getResource("/abi-listing.txt")
            return parse(
                checkNotNull(resource) { "There is no abi-listing.txt: run core-java/generator/generate." }.readText(),
            )
        }

        fun parse(text: String): AbiListing {
            val (includes, constants) =
                text
                    .lines()
                    .filterNot { it.isBlank() || it.startsWith("#") }
                    .map { it.split(" ", limit = 3) }
                    .partition { it[0] == "include" }
            require(constants.isNotEmpty()) { "The listing names no constant: run core-java/generator/generate." }
            return AbiListing(includes.map { it[1] }, constants.map { AbiEntry(it[0], it[1], it[2]) })
        }
    }
}

/** The public constants of a class of the abi package by name; empty when there is no such class. */
internal fun abiConstants(className: String): Map<String, Long> {
    val type =
        runCatching { Class.forName("${AbiListing::class.java.packageName}.$className") }.getOrNull()
            ?: return emptyMap()
    return type.fields
        .filter { Modifier.isStatic(it.modifiers) }
        .associate { it.name to (it.get(null) as Number).toLong() }
}
