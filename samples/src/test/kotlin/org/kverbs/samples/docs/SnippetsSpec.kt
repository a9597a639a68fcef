package org.kverbs.samples.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldNotBeEmpty
import java.io.File

private val root = File(System.getProperty("kverbs.root"))
private val fence = Regex("```(kotlin|java)\n(.*?)```", RegexOption.DOT_MATCHES_ALL)

/** Without indentation and empty lines, which are others where the snippet runs. */
private fun plain(code: String) = code.lines().map { it.trim() }.filter { it.isNotEmpty() }.joinToString("\n")

class SnippetsSpec :
    FunSpec({
        // Specs of this package compile and run them.
        val run =
            listOf("kotlin", "java")
                .flatMap { root.resolve("samples/src/test/$it/org/kverbs/samples/docs").listFiles().orEmpty().asList() }
                .map { plain(it.readText()) }

        for (page in root.resolve("docs").listFiles { file -> file.extension == "md" }.orEmpty().sorted()) {
            test("should run each snippet of ${page.name}") {
                val snippets = fence.findAll(page.readText()).map { plain(it.groupValues[2]) }.toList()
                snippets.shouldNotBeEmpty()
                snippets.filter { snippet -> run.none { snippet in it } }.shouldBeEmpty()
            }
        }
    })
