package org.kverbs.acceptance.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainAll
import java.io.File
import kotlin.io.path.div
import kotlin.io.path.readText

/** Without spaces, line breaks and the commas before them, which are others where the fragment runs. */
private fun plain(code: String) = code.filterNot { it.isWhitespace() }.replace(",)", ")")

/** The folders of specs, users' projects and scripts that compile and run the fragments of pages. */
private val sources: List<File> =
    root
        .toFile()
        .walk()
        .onEnter {
            // The project's own folder can have any name, "main" for one.
            it == root.toFile() || it.name !in listOf("target", ".cache", ".git", "main") || "integration" in it.path
        }.filter { it.extension in listOf("kt", "kts", "java", "xml") && "/acceptance/docs/" !in it.path }
        .toList()

private val texts: Map<File, String> by lazy { sources.associateWith { plain(it.readText()) } }

/** The imports that a page gives for its fragments: in a block of imports, or in code font (`org.kverbs.dsl.*`). */
private fun Page.imports(): List<String> =
    Regex("(?:^import |`)((?:org\\.kverbs|kotlinx?)\\.[\\w.*]+)", RegexOption.MULTILINE)
        .findAll(text)
        .map {
            it.groupValues[1]
        }.toList()

/** The imports of [source] from kverbs and kotlinx whose names are in the fragment. */
private fun needed(
    fragment: Fence,
    source: File,
): List<String> =
    Regex("^import ((?:org\\.kverbs|kotlinx)\\.[\\w.]+);?$", RegexOption.MULTILINE)
        .findAll(source.readText())
        .map { it.groupValues[1] }
        .filter { Regex("\\b${it.substringAfterLast('.')}\\b").containsMatchIn(fragment.text) }
        .toList()

private fun isFragment(fence: Fence) =
    fence.language in listOf("kotlin", "java", "xml") && fence.file == null && !fence.isImports

/** Tests the fragments of pages. ProgramsSpec runs the blocks that are whole programs. */
class FragmentsSpec :
    FunSpec({
        val pages =
            Page
                .all()
                .associateWith { page -> page.fences.filter { isFragment(it) && page.program(it.language) == null } }
                .filterValues { it.isNotEmpty() }

        test("should find fragments") {
            pages.keys.map { it.name } shouldContainAll listOf("services.md", "testing.md", "depend.md")
        }

        test("should name artifacts of the BOM, in their version, in lines for Gradle") {
            val bom = (root / "bom/pom.xml").readText()
            val version = Regex("<version>(.*?)</version>").find(bom)?.groupValues?.get(1)
            val named = Regex("\"org\\.kverbs:([\\w-]+)(?::([^\"]*))?\"")
            val lines = Page.all().flatMap { it.fences }.filter { it.language == "kts" }
            val artifacts = lines.flatMap { named.findAll(it.text) }.map { it.destructured }
            artifacts.map { (artifact) -> artifact } shouldContainAll listOf("kverbs-bom", "kverbs")
            artifacts
                .filter { (artifact, given) ->
                    "<artifactId>$artifact</artifactId>" !in bom || given !in listOf("", version)
                }.shouldBeEmpty()
        }

        for ((page, fragments) in pages) {
            test("should find each fragment of ${page.name} where it is compiled and run") {
                fragments
                    .filter { fragment ->
                        texts.values.none { plain(fragment.text) in it }
                    }.map { it.text }
                    .shouldBeEmpty()
            }

            test("should say on ${page.name} what its fragments import") {
                val imports = page.imports()
                fragments
                    .filter { it.language != "xml" }
                    .mapNotNull { fragment ->
                        texts.entries.firstOrNull { plain(fragment.text) in it.value }?.let {
                            fragment to
                                it.key
                        }
                    }.flatMap { (fragment, source) -> needed(fragment, source) }
                    .filter { name -> name !in imports && name.substringBeforeLast('.') + ".*" !in imports }
                    .distinct()
                    .shouldBeEmpty()
            }
        }
    })
