package org.kverbs.acceptance.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveAtLeastSize
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import java.io.File

private val page = Page.of("troubleshooting.md")

/** The words of messages on the page: in code font, in the left column of tables and in paragraphs that list some. */
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

/** Files whose sentences tell a user what to do. Each sentence is on the page. */
private val advice: List<String> =
    listOf(
        "internal/ErrorAdvice",
        "internal/ConnectionAdvice",
        "internal/XrcAdvice",
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
        "micrometer",
        "structures",
        "management",
        "testkit",
        "testkit-junit",
        "testkit-kotest",
        "samples",
        "console",
        "cli",
        "lab",
        "kverbs",
    )

/** The modules in Kotlin, each of whose messages has an entry on the page. */
private val modules =
    listOf(
        "dsl",
        "coroutines",
        "serialization",
        "krpc",
        "micrometer",
        "structures",
        "management",
        "testkit",
        "testkit-junit",
        "testkit-kotest",
    )

/** Messages that need no entry on the page, each with the reason. */
private val withoutEntry: Map<String, (MessageSite) -> Boolean> =
    mapOf(
        "a cancellation, which is no error" to { site -> site.by == "CancellationException" },
        "a peer's fault, whose exception ends in the words of an entry" to
            { site -> site.by == "ChannelProtocolException" || site.by == "RequestProtocolException" },
        "words behind those of a RequestProtocolException" to { site -> site.file.name == "FrameCodec.kt" },
        "a fault of kverbs itself: no program can reach it" to
            { site ->
                listOf(
                    "the channel receives",
                    "the receives of this channel are shared",
                    "a slot is given back by the end of its send request",
                    "a server ends by an exception only",
                ).any(site.text::equals)
            },
        "words behind the entry 'the subnet is damaged'" to
            { site -> site.file.name == "SubnetBody.kt" || site.file.name == "SubnetCheck.kt" },
        "words behind the entry 'with data that cannot be read'" to
            { site -> site.by == "MadReplyException" || site.text.startsWith("it is too short for a") },
        "a fault of librdmacm, which always gives the address" to
            { site -> Regex("\\S+ has no (IP )?(address|GID)").matches(site.text) },
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

        val entries = shown.filter { ' ' in it }.map(::plain)
        val sites =
            modules.associateWith { module ->
                sources
                    .filter { it.startsWith(root.resolve(module).toFile()) }
                    .flatMap(::messageSites)
                    .filter { it.hasWords }
            }
        for (module in modules.filter { sites.getValue(it).isNotEmpty() }) {
            test("should have an entry for each message of $module, except those that need none") {
                sites
                    .getValue(module)
                    .filter { site -> withoutEntry.values.none { it(site) } }
                    .filter { site ->
                        val text = plain(site.text.replace("\\\"", "\""))
                        entries.none { it in text }
                    }.joinToString("\n") shouldBe ""
            }
        }

        test("should read the messages of a source: across lines, with templates, and behind conditions") {
            val source =
                """
                // error("not in a comment")
                require(a[f(")")] > 0) { "one ${'$'}{b ?: "none"} " + "two" }
                throw FooException(
                    "three" +
                        "four", '"', cause,
                )
                """
            val file = tempfile("Messages", ".kt").also { it.writeText(source) }
            messageSites(file).map { "${it.by} ${it.line} ${it.text}" } shouldBe
                listOf("require 3 one \${b ?: \"none\"} two", "FooException 4 threefour")
        }

        for ((reason, applies) in withoutEntry) {
            test("should still have a message without an entry: $reason") {
                sites.values.flatten().count(applies) shouldBeGreaterThan 0
            }
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

/** True if a text begins a message: with a capital letter, or with the name of a status and a colon. */
private fun isSentence(text: String) =
    text.split(' ').size >= 4 && (text.first().isUpperCase() || Regex("[a-z -]+: .*").matches(text)) &&
        "operation completed" !in text

/** The words that tell it from others: up to four, or up to a colon. */
private fun String.leading() =
    substringBefore(':').substringBefore(", ").split(' ').take(4).joinToString(" ").trimEnd('.', ',')
