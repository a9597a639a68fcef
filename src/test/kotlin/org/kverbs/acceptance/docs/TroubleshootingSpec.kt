package org.kverbs.acceptance.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveAtLeastSize
import java.io.File

private val page = Page.of("troubleshooting.md")

/** In code font: words of messages, in the left column of the tables and in the paragraphs that list some. */
private val shown: List<String> =
    page.prose
        .lines()
        .filter { it.startsWith("|") }
        .map { it.split('|')[1] }
        .filter { "-Dkverbs" !in it }
        .flatMap { codes(it) } +
        page.prose
            .split("\n\n")
            .filter { codes(it).size > 4 && !it.startsWith("|") }
            .flatMap { codes(it) }
            .filter { ' ' in it }

private fun codes(text: String) = Regex("`([^`]+)`").findAll(text.replace('\n', ' ')).map { it.groupValues[1] }.toList()

/** Files whose sentences tell a user what to do: each is on the page. */
private val advice: List<String> =
    listOf(
        "internal/ErrorAdvice",
        "internal/ConnectionAdvice",
        "internal/MemlockLimit",
        "ConnectionErrors",
        "LibraryUnavailableException",
        "DeviceNotFoundException",
        "AsyncEventException",
        "WorkCompletionStatus",
    )

private val folders =
    listOf(
        "core-java",
        "embedded",
        "dsl",
        "coroutines",
        "serialization",
        "krpc",
        "testkit",
        "samples",
        "cli",
        "lab",
        "kverbs",
    )

/** The texts of a source, each as one: without the pluses between its lines. */
private fun texts(source: String): List<String> {
    val code =
        source
            .replace(
                Regex("/\\*.*?\\*/", RegexOption.DOT_MATCHES_ALL),
                "",
            ).replace(Regex("\"\\s*\\+\\s*\""), "")
    return Regex("\"((?:[^\"\\\\\\n]|\\\\.)*)\"").findAll(code).map { it.groupValues[1].replace("\\\"", "\"") }.toList()
}

private val sources: List<File> =
    folders
        .flatMap { folder ->
            val file = root.resolve(folder).toFile()
            if (file.isFile) {
                listOf(file)
            } else {
                file
                    .walk()
                    .filter {
                        it.isFile && "/test/" !in it.path &&
                            "/target/" !in it.path
                    }.toList()
            }
        }.filter { it.extension in listOf("java", "kt", "sh", "") }

/** Words in one line each, as they stand in a message. */
private fun plain(text: String) = text.replace("`", "").replace(Regex("\\s+"), " ")

class TroubleshootingSpec :
    FunSpec({
        test("should show messages that the code has") {
            val all =
                sources
                    .joinToString(
                        "\n",
                    ) { file -> file.readText().let { it + texts(it).joinToString("\n") } }
                    .let(::plain)
            shown.shouldHaveAtLeastSize(100)
            shown.filter { plain(it) !in all }.shouldBeEmpty()
        }

        val onPage = plain(page.text)
        for (name in advice) {
            test("should show each sentence of $name by its leading words") {
                val file =
                    sources.single {
                        it.path.endsWith("core-java/src/main/java/org/kverbs/$name.java") ||
                            it.path.endsWith("/cm/$name.java")
                    }
                val sentences = texts(file.readText()).map { it.trimStart(' ', '.', ';') }.filter(::isSentence)
                sentences.shouldHaveAtLeastSize(1)
                sentences.filter { plain(it).leading() !in onPage }.shouldBeEmpty()
            }
        }
    })

/** Whether a text begins a message: with a capital letter, or with the name of a status and a colon. */
private fun isSentence(text: String) =
    text.split(' ').size >= 4 && (text.first().isUpperCase() || Regex("[a-z -]+: .*").matches(text)) &&
        "operation completed" !in text

/** The words that tell it from others: up to four, or up to a colon. */
private fun String.leading() =
    substringBefore(':').substringBefore(", ").split(' ').take(4).joinToString(" ").trimEnd('.', ',')
