package org.kverbs.samples.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainAll
import java.io.File

private val root = File(System.getProperty("kverbs.root"))
private val fence = Regex("```(kotlin|java)\n(.*?)```", RegexOption.DOT_MATCHES_ALL)

/** Without indentation and empty lines, which are others where the snippet runs. */
private fun plain(code: String) = code.lines().map { it.trim() }.filter { it.isNotEmpty() }.joinToString("\n")

/** Where specs compile and run what the pages show. */
private val specs =
    listOf(
        "samples/src/test/kotlin/org/kverbs/samples/docs",
        "samples/src/test/java/org/kverbs/samples/docs",
        "testkit/src/test/kotlin/org/kverbs/testkit",
        "integration/java/src/main/java",
    )

class SnippetsSpec :
    FunSpec({
        val run =
            specs
                .flatMap {
                    root
                        .resolve(
                            it,
                        ).listFiles()
                        .orEmpty()
                        .asList()
                }.filter { it.isFile }
                .map { plain(it.readText()) }

        val pages =
            root.resolve("docs").listFiles { file -> file.extension == "md" }.orEmpty().sorted() +
                root.resolve("README.md")
        val snippets =
            pages.associateWith { page ->
                fence.findAll(page.readText()).map { plain(it.groupValues[2]) }.toList()
            }

        test("should find snippets") {
            snippets.filterValues { it.isNotEmpty() }.keys.map { it.name } shouldContainAll
                listOf("README.md", "coroutines.md", "services.md", "testing.md")
        }

        for ((page, shown) in snippets.filterValues { it.isNotEmpty() }) {
            test("should run each snippet of ${page.name}") {
                shown.filter { snippet -> run.none { snippet in it } }.shouldBeEmpty()
            }
        }
    })
