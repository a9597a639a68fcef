package org.kverbs.acceptance

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotBeBlank
import org.w3c.dom.Element
import java.io.File
import javax.xml.parsers.DocumentBuilderFactory

private val root = File(System.getProperty("kverbs.root"))

private fun pom(module: String) =
    DocumentBuilderFactory
        .newInstance()
        .newDocumentBuilder()
        .parse(root.resolve("$module/pom.xml"))
        .documentElement

private fun Element.elements() = (0 until childNodes.length).map { childNodes.item(it) }.filterIsInstance<Element>()

private fun Element.find(path: String) =
    path.split('/').fold(listOf(this)) { found, name -> found.flatMap { it.elements() }.filter { it.tagName == name } }

/** The text of the one element at [path], such as `scm/url`. */
private fun Element.text(path: String) = find(path).single().textContent.trim()

private val parent = pom(".")
private val bom = pom("bom")

/** Without indentation and empty lines, which are others in a page. */
private fun plain(lines: String) = lines.lines().map { it.trim() }.filter { it.isNotEmpty() }.joinToString("\n")

private val snippet = Regex("```xml\n(.*?)```", RegexOption.DOT_MATCHES_ALL)

/** The published modules with a jar: those that no property keeps from being deployed. */
private val published =
    parent.find("modules/module").map { it.textContent }.filter { it != "bom" }.associateWith(::pom).filterValues {
        it.find("properties/maven.deploy.skip").isEmpty()
    }

class PomsSpec :
    FunSpec({
        test("should name every published artifact in the BOM") {
            bom
                .find("dependencyManagement/dependencies/dependency")
                .filter { it.text("groupId") == "org.kverbs" }
                .map { it.text("artifactId") } shouldContainExactlyInAnyOrder
                published.values.map { it.text("artifactId") }
        }

        test("should manage no scope in the BOM, which would be the users' scope") {
            bom.find("dependencyManagement/dependencies/dependency/scope").map { it.textContent }.toSet() shouldBe
                setOf("import")
        }

        for (version in listOf("kotlin.version", "coroutines.version", "kotest.version", "junit.version")) {
            test("should align users with the $version that the build tests") {
                bom.text("properties/$version") shouldBe parent.text("properties/$version")
            }
        }

        val demanded =
            listOf(
                "url",
                "licenses/license/name",
                "licenses/license/url",
                "developers/developer/name",
                "scm/connection",
            ) +
                listOf("scm/developerConnection", "scm/url", "version")
        for (path in demanded) {
            test(
                "should say the same $path in the BOM as in the parent of the other POMs, as Maven Central demands " +
                    "it of each",
            ) {
                parent.text(path).shouldNotBeBlank()
                bom.text(path) shouldBe parent.text(path)
            }
        }

        for ((module, pom) in published) {
            test("should give $module a name, a description and what the parent says for all") {
                pom.text("name") shouldBe pom.text("artifactId")
                pom.text("description").shouldNotBeBlank()
                withClue("$module has a url of its own") { pom.find("url") shouldBe emptyList() }
            }
        }

        test("should show in docs/depend.md what the users' projects have in their POMs, which ./verify builds") {
            val built = listOf("kotlin", "java").map { plain(root.resolve("integration/$it/pom.xml").readText()) }
            val shown =
                snippet
                    .findAll(
                        root.resolve("docs/depend.md").readText(),
                    ).map { plain(it.groupValues[1]) }
                    .toList()
            shown.shouldNotBeEmpty()
            shown.filter { lines -> built.none { lines in it } }.shouldBeEmpty()
        }

        for (version in listOf("kotlin.version", "coroutines.version", "kotest.version", "junit.version")) {
            test("should say the $version that users need in docs/depend.md") {
                root.resolve("docs/depend.md").readText() shouldContain bom.text("properties/$version")
            }
        }
    })
