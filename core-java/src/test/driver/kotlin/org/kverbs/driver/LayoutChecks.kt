package org.kverbs.driver

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
import kotlin.reflect.KClass

/**
 * Compares the generated layouts and constants of a driver's module with what the C compiler finds in its header.
 *
 * @param module the folder of the module, and the name of its package: `efa`
 * @param main a class of the module
 * @param releases the first release of rdma-core with the functions of each symbol version
 */
abstract class LayoutChecks(
    module: String,
    main: KClass<*>,
    releases: Map<String, Int>,
) : FunSpec({
        val layouts = Layouts(module, main)
        val listing =
            checkNotNull(main.java.getResource("/abi-listing.txt")).readText().lines().filter {
                it.isNotEmpty() && !it.startsWith("#") && !it.startsWith("include")
            }
        val entries = listing.map { it.split(" ", limit = 3) }

        test("should equal every size, offset and constant of the C header") {
            val values = layouts.evaluate(entries.map { it[2] })
            values.size shouldBe entries.size
            entries
                .zip(values)
                .filter { (entry, value) -> layouts.constants(entry[0])[entry[1]] != value }
                .map { (entry, value) -> "${entry[0]}.${entry[1]} is not $value, as ${entry[2]} is" }
                .shouldBeEmpty()
        }

        test("should compare every constant of every class in the package") {
            val compared = entries.map { "${it[0]}.${it[1]}" }.toSet()
            val all = layouts.classes().flatMap { name -> layouts.constants(name).keys.map { "$name.$it" } }
            all.size shouldBeGreaterThan MOST_MISSED
            (all - compared).shouldBeEmpty()
        }

        test("should give each function the release that the library itself has it from") {
            val library = run(listOf("gcc", "-print-file-name=lib$module.so")).trim()
            val versions =
                run(listOf("nm", "--dynamic", "--defined-only", library))
                    .lines()
                    .map { it.substringAfterLast(' ') }
                    .filter { "@@" in it }
                    .associate { it.substringBefore("@@") to it.substringAfter("@@") }
            val root = Path.of(System.getProperty("kverbs.root"))
            val source = (root / "$module/src/main/java/org/kverbs/$module/internal/Lib$module.java").readText()
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
            bound shouldBe bound.mapValues { (function, _) -> releases[versions[function]] }
        }
    })

private const val MOST_MISSED = 20

/** The generated classes of a module. */
private class Layouts(
    private val module: String,
    private val main: KClass<*>,
) {
    private val abi = "org.kverbs.$module.internal.abi"

    fun classes(): List<String> {
        val root = Path.of(main.java.protectionDomain.codeSource.location.toURI())
        return (root / abi.replace('.', '/')).listDirectoryEntries("*.class").map { it.nameWithoutExtension } -
            "package-info"
    }

    fun constants(name: String): Map<String, Long> =
        Class.forName("$abi.$name").fields.associate { it.name to (it.get(null) as Number).toLong() }

/** The values of C expressions, by one program that prints them all. */
    @OptIn(ExperimentalPathApi::class)
    fun evaluate(expressions: List<String>): List<Long> {
        val folder = Files.createTempDirectory("kverbs-layout")
        try {
            val prints = expressions.joinToString("\n") { "printf(\"%lld\\n\", (long long)($it));" }
            val source = folder / "layout.c"
            source.writeText(
                "#include <stddef.h>\n#include <stdio.h>\n#include <infiniband/${module}dv.h>\nint main(void) {\n$prints\n}\n",
            )
            run(listOf("gcc", "$source", "-o", "${folder / "layout"}"))
            return run(listOf("${folder / "layout"}")).lines().filter { it.isNotEmpty() }.map { it.toLong() }
        } finally {
            folder.deleteRecursively()
        }
    }
}
