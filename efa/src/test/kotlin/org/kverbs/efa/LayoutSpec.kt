package org.kverbs.efa

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.deleteRecursively
import kotlin.io.path.div
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.nameWithoutExtension
import kotlin.io.path.readText
import kotlin.io.path.writeText

private const val ABI = "org.kverbs.efa.internal.abi"

/** Compares the generated layouts and constants with what the C compiler finds in `infiniband/efadv.h`. */
class LayoutSpec :
    FunSpec({
        val listing =
            checkNotNull(LayoutSpec::class.java.getResource("/abi-listing.txt")).readText().lines().filter {
                it.isNotEmpty() && !it.startsWith("#") && !it.startsWith("include")
            }
        val entries = listing.map { it.split(" ", limit = 3) }

        test("should equal every size, offset and constant of the C header") {
            val values = evaluate(entries.map { it[2] })
            values.size shouldBe entries.size
            entries
                .zip(values)
                .filter { (entry, value) -> constants(entry[0])[entry[1]] != value }
                .map { (entry, value) -> "${entry[0]}.${entry[1]} is not $value, as ${entry[2]} is" }
                .shouldBeEmpty()
        }

        test("should compare every constant of every class in the package") {
            val compared = entries.map { "${it[0]}.${it[1]}" }.toSet()
            val all = classes().flatMap { name -> constants(name).keys.map { "$name.$it" } }
            all.size shouldBeGreaterThan MOST_MISSED
            (all - compared).shouldBeEmpty()
        }

        test("should give each function the release that the library itself has it from") {
            val library = run(listOf("gcc", "-print-file-name=libefa.so")).trim()
            val versions =
                run(listOf("nm", "--dynamic", "--defined-only", library))
                    .lines()
                    .map { it.substringAfterLast(' ') }
                    .filter { "@@" in it }
                    .associate { it.substringBefore("@@") to it.substringAfter("@@") }
            val root = Path.of(System.getProperty("kverbs.root"))
            val source = (root / "efa/src/main/java/org/kverbs/efa/internal/Libefa.java").readText()
            val constants =
                Regex("String ([A-Z_]+) = \"(\\w+)\"").findAll(source).associate {
                    it.groupValues[1] to
                        it.groupValues[2]
                }
            val bound =
                Regex("library\\.(?:status|pointer|number)\\(\\s*\"?(\\w+)\"?, (\\d+)").findAll(source).associate {
                    (constants[it.groupValues[1]] ?: it.groupValues[1]) to it.groupValues[2].toInt()
                }
            bound.size shouldBe Regex("library\\.(?:status|pointer|number)\\(").findAll(source).count()
            bound shouldBe bound.mapValues { (function, _) -> RELEASES[versions[function]] }
        }
    })

/** The first release of rdma-core with the functions of each symbol version. */
private val RELEASES = mapOf("EFA_1.0" to 24, "EFA_1.1" to 26, "EFA_1.2" to 43)

private const val MOST_MISSED = 20

private fun classes(): List<String> {
    val root = Path.of(Efa::class.java.protectionDomain.codeSource.location.toURI())
    return (root / ABI.replace('.', '/')).listDirectoryEntries("*.class").map { it.nameWithoutExtension } -
        "package-info"
}

private fun constants(name: String): Map<String, Long> =
    Class.forName("$ABI.$name").fields.associate { it.name to (it.get(null) as Number).toLong() }

/** The values of C expressions, by one program that prints them all. */
@OptIn(ExperimentalPathApi::class)
private fun evaluate(expressions: List<String>): List<Long> {
    val folder = Files.createTempDirectory("kverbs-layout")
    try {
        val prints = expressions.joinToString("\n") { "printf(\"%lld\\n\", (long long)($it));" }
        val source = folder / "layout.c"
        source.writeText(
            "#include <stddef.h>\n#include <stdio.h>\n#include <infiniband/efadv.h>\nint main(void) {\n$prints\n}\n",
        )
        run(listOf("gcc", "$source", "-o", "${folder / "layout"}"))
        return run(listOf("${folder / "layout"}")).lines().filter { it.isNotEmpty() }.map { it.toLong() }
    } finally {
        folder.deleteRecursively()
    }
}
