package org.kverbs.internal.abi

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.nio.file.Path
import kotlin.io.path.div
import kotlin.io.path.isRegularFile
import kotlin.io.path.readText
import kotlin.io.path.relativeTo
import kotlin.io.path.walk

class GeneratorSpec :
    FunSpec({
        val headers = AbiListing.committed().headers
        val compiler = CCompiler.presentOrSkipped(headers)
        val core =
            Path.of(checkNotNull(System.getProperty("kverbs.root")) { "Run with -Dkverbs.root, as Maven does." }) /
                "core-java"

        test("should write the committed files again, byte for byte")
            .config(enabledOrReasonIf = { compiler }) {
                CCompiler.require(headers)
                inTemporaryFolder { folder ->
                    val jdk = mapOf("JAVA_HOME" to System.getProperty("java.home"))
                    runProgram("$core/generator/generate", folder.toString(), environment = jdk)
                    val written = generated(folder)
                    val committed = generated(core)
                    val different = (written.keys + committed.keys).filter { written[it] != committed[it] }
                    withClue(
                        "Run core-java/generator/generate and commit:",
                    ) { different.joinToString("\n") shouldBe "" }
                }
            }
    })

/** The text of the generated files under a folder laid out like the module. */
private fun generated(root: Path): Map<String, String> {
    val classes = (root / "src/main/java/org/kverbs/internal/abi").walk().filter { it.isRegularFile() }
    val listing = root / "src/test/resources/abi-listing.txt"
    return (classes.toList() + listOf(listing)).associate { it.relativeTo(root).toString() to it.readText() }
}
