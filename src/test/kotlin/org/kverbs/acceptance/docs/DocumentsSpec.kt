package org.kverbs.acceptance.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import java.nio.file.Path
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.isExecutable
import kotlin.io.path.readLines
import kotlin.io.path.readText

private val pages = Page.all()

/** A link in prose, `[text](target)`, whose target is no address of the web. */
private val link = Regex("]\\((?!https?:)([^)#]*)(?:#([^)]*))?\\)")

/** Returns the anchor that Markdown viewers make from a heading. */
private fun anchor(heading: String) =
    heading
        .trimStart('#')
        .trim()
        .lowercase()
        .replace(Regex("[^\\w -]"), "")
        .replace(' ', '-')

private fun anchors(page: Path) = page.readLines().filter { it.startsWith("#") }.map(::anchor)

/** The commands of a page, in its blocks and in code font within prose. */
private fun commands(page: Page): List<String> =
    page.commands +
        Regex("`([^`\n]+)`").findAll(page.prose).map { it.groupValues[1] }.filter {
            it.startsWith("./") ||
                it.startsWith("mvn ")
        }

/** The words of a command without assignments before it and a comment behind it. */
private fun words(command: String) =
    command.substringBefore(" #").split(' ').dropWhile { '=' in it }.filter { it.isNotEmpty() }

/** A spec with its module, as pyverbs.md names it; [PyverbsSpec] checks that it is there. */
private val namesSpec = Regex("[\\w-]+/\\w+Spec")

class DocumentsSpec :
    FunSpec({
        for (page in pages) {
            test("should lead from ${page.name} to pages and headings that are there") {
                link
                    .findAll(page.prose)
                    .filter { found ->
                        val (target, heading) = found.destructured
                        val path = if (target.isEmpty()) page.path else page.path.resolveSibling(target)
                        !path.exists() || (heading.isNotEmpty() && heading !in anchors(path))
                    }.map { it.value }
                    .toList()
                    .shouldBeEmpty()
            }

            test("should name programs and files in ${page.name} that are there") {
                commands(page)
                    .map { words(it).first() }
                    .filter { it.startsWith("./") && !(root / it).isExecutable() }
                    .shouldBeEmpty()
                Regex(
                    "`((?:samples|integration|lab|benchmarks|coroutines|embedded|core-java|src/test)/[\\w./-]*)",
                ).findAll(page.prose)
                    .map { it.groupValues[1] }
                    .filter { "target" !in it && !namesSpec.matches(it) && !(root / it).exists() }
                    .toList()
                    .shouldBeEmpty()
            }

            test("should name profiles and modules of Maven in ${page.name} that are there") {
                val poms = (root / "pom.xml").readText()
                val maven = commands(page).filter { it.startsWith("mvn ") }
                maven
                    .flatMap { words(it) }
                    .filter { it.startsWith("-P") }
                    .map { it.removePrefix("-P") }
                    .filter { "<id>$it</id>" !in poms && !anyPom("<id>$it</id>") }
                    .shouldBeEmpty()
                maven
                    .mapNotNull { Regex("-f (\\S+)").find(it)?.groupValues?.get(1) }
                    .filter { !(root / it).exists() }
                    .shouldBeEmpty()
            }
        }

        test("should name calls in compatibility.md that the API has") {
            val classes =
                listOf("core", "mlx5", "efa")
                    .flatMap { (root / "api/kverbs-$it.api").readText().split("\n\n") }
                    .associateBy { it.substringBefore(" :").substringBefore(" {").substringAfterLast('/') }
            Regex("`([A-Z]\\w+)\\.(\\w+)`")
                .findAll(Page.of("compatibility.md").prose)
                .filter { found ->
                    val (name, call) = found.destructured
                    "fun $call " !in classes[name].orEmpty()
                }.map { it.value }
                .toList()
                .shouldBeEmpty()
        }

        test("should keep the README short enough to read") {
            pages
                .single { it.name == "README.md" }
                .text
                .lines()
                .size shouldBeLessThanOrEqual 201
        }

        test("should have each page that the README promises") {
            pages.map { it.name.removeSuffix(".md") } shouldContainAll
                listOf(
                    "getting-started",
                    "verbs",
                    "coroutines",
                    "services",
                    "testing",
                    "embedded-device",
                    "scripts",
                    "java",
                ) +
                listOf(
                    "performance",
                    "troubleshooting",
                    "compatibility",
                    "architecture",
                    "commands",
                    "depend",
                    "stability",
                )
        }
    })

private fun anyPom(text: String) =
    root
        .toFile()
        .listFiles()
        .orEmpty()
        .map { it.resolve("pom.xml") }
        .any { it.exists() && text in it.readText() }
