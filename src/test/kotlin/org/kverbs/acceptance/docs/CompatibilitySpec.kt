package org.kverbs.acceptance.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import java.nio.file.Path
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.readText

private val folder = Path.of("/usr/lib/x86_64-linux-gnu")
private val libraries = listOf("libibverbs.so.1", "librdmacm.so.1").map { folder / it }

/** What drivers call in libibverbs, and nobody else. */
private val forDrivers = listOf("ibv_cmd_", "ibv_copy_")

private val present: Enabled
    get() =
        if (libraries.all { it.exists() } || System.getenv("KVERBS_REQUIRE_TOOLS") == "1") {
            Enabled.enabled
        } else {
            Enabled.disabled("libibverbs and librdmacm are missing: run './verify', which installs them.")
        }

/** The functions that a library exports to programs. */
private fun exported(
    library: Path,
    vararg prefixes: String = arrayOf("ibv_", "rdma_"),
): List<String> {
    val process = ProcessBuilder("nm", "-D", "--defined-only", "$library").start()
    val lines = process.inputReader().readLines()
    check(process.waitFor() == 0) { "nm ended with ${process.exitValue()}" }
    return lines
        .map { it.substringAfterLast(' ').substringBefore('@') }
        .filter { name -> prefixes.any(name::startsWith) }
        .filter { name -> forDrivers.none(name::startsWith) }
        .distinct()
}

/** The operations that verbs.h finds in the table of a device; programs call them by these names. */
private fun operations(): List<String> =
    Regex("int ([A-Z_]+) = \\d+; // function pointer")
        .findAll((root / "core-java/src/main/java/org/kverbs/internal/abi/VerbsContext.java").readText())
        .map { it.groupValues[1] }
        .filterNot { "CONTEXT" in it || "PLACEHOLDER" in it }
        .map { "ibv_" + it.lowercase().removePrefix("ibv_") }
        .map { if (it == "ibv_query_rt_values") "ibv_query_rt_values_ex" else it }
        .toList()

/** docs/compatibility.md has a row for each verb, whether kverbs has it or not. */
class CompatibilitySpec :
    FunSpec({
        val named =
            Regex("`(\\w+)`").findAll((root / "docs/compatibility.md").readText()).map { it.groupValues[1] }.toSet()

        test("should have a row for each function that the installed libraries export")
            .config(enabledOrReasonIf = { present }) {
                val all = libraries.flatMap { exported(it) }
                all.size shouldBeGreaterThan 100
                (all - named).shouldBeEmpty()
            }

        test("should have a row for each function that the doors to drivers call, and for each of libefa")
            .config(enabledOrReasonIf = { present }) {
                for ((module, least) in listOf("mlx5" to 4, "efa" to 3)) {
                    val source = (root / "$module/src/main/java/org/kverbs/$module/internal/Lib$module.java").readText()
                    val bound = Regex("\"(${module}dv_\\w+)\"").findAll(source).map { it.groupValues[1] }.toSet()
                    bound.size shouldBeGreaterThan least - 1
                    (bound - named).shouldBeEmpty()
                }
                (exported(folder / "libefa.so.1", "efadv_") - named).shouldBeEmpty()
            }

        test("should have a row for each operation in the table of a device") {
            operations().size shouldBeGreaterThan 30
            (operations() - named).shouldBeEmpty()
        }
    })
