package org.kverbs.acceptance.docs

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.maps.shouldNotBeEmpty
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.acceptance.SHORT_KVERBS
import java.util.concurrent.TimeUnit.MINUTES
import kotlin.concurrent.thread
import kotlin.io.path.createDirectory
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.readText
import kotlin.io.path.writeText
import kotlin.random.Random

/** The programs that pages show are compiled from the pages' text and run, and print what the pages say. */
class ProgramsSpec :
    FunSpec({
        timeout = 600_000

        val folder = tempdir().toPath()
        val pages = Page.all()

        for (page in pages) {
            for (language in listOf("kotlin", "java")) {
                val program = page.program(language) ?: continue
                test("should run the $language of ${page.name}, its fragments one after the other") {
                    val compiled =
                        Compiled.of(
                            mapOf(program.source(language)),
                            (folder / "${page.name}-$language").createDirectory(),
                        )
                    compiled.errors shouldBe ""
                    compiled.java("Fragments").outcome() shouldBe Outcome(0, program.output)
                }
            }
        }

        for (page in pages.filter { it.files.isNotEmpty() }) {
            val running = RunningServers()
            val (scripts, sources) = page.files.values.partition { it.name.endsWith(".kts") }
            val (tests, programs) = sources.partition { it.isTest }
            val compiled by lazy {
                Compiled.of(
                    sources.associate { it.name to it.text },
                    (folder / page.name).createDirectory(),
                )
            }

            if (sources.isNotEmpty()) {
                test("should compile each file of ${page.name}") { compiled.errors shouldBe "" }
            }

            for (file in tests) {
                test("should pass ${file.name} of ${page.name}") {
                    val arguments =
                        listOf("execute", "--select-class", file.className, "--fail-if-no-tests", "--disable-banner")
                    val outcome = compiled.java("org.junit.platform.console.ConsoleLauncher", arguments).outcome()
                    withClue(outcome.output) { outcome.status shouldBe 0 }
                }
            }

            for (file in programs) {
                test("should run ${file.name} of ${page.name}") {
                    val main = file.className + if (file.name.endsWith(".kt")) "Kt" else ""
                    val command = running.place(page.command(main))
                    running.check(file, compiled.java(main, command.arguments, command.environment))
                }
            }

            for (file in scripts) {
                test("should run ${file.name} of ${page.name}") {
                    val sample = root / file.name
                    val script = if (sample.exists()) sample else folder / file.name
                    if (sample.exists()) {
                        script.readText().code() shouldBe file.text.code()
                    } else {
                        script.writeText(file.text)
                    }
                    val command = running.place(page.command(file.name))
                    val words = listOf("./kverbs", "script", "$script") + command.arguments
                    // The launcher says there that it builds, and the compiler what it warns of.
                    val errors = folder / "${file.name.replace('/', '-')}.err"
                    val builder = ProcessBuilder(words).directory(root.toFile()).redirectError(errors.toFile())
                    builder.environment().putAll(SHORT_KVERBS + command.environment)
                    withClue({ errors.readText() }) { running.check(file, builder.start()) }
                }
            }

            afterSpec { running.end() }
        }

        test("should find programs on the pages that lead through them") {
            pages.filter { it.files.isNotEmpty() }.associateBy { it.name }.shouldNotBeEmpty()
            pages
                .filter {
                    it.program(
                        "kotlin",
                    ) != null || it.program("java") != null
                }.map { it.name } shouldContainExactly
                listOf("coroutines.md", "java.md", "verbs.md")
        }
    })

private fun Fragments.source(language: String): Pair<String, String> {
    val indented = body.prependIndent("    ")
    val main = if ("import kotlinx.coroutines" in imports) "fun main(): Unit = runBlocking" else "fun main()"
    return when (language) {
        "kotlin" -> "Fragments.kt" to "@file:JvmName(\"Fragments\")\n$imports\n$main {\n$indented\n}\n"
        else -> "Fragments.java" to "$imports\npublic class Fragments {\n$JAVA_MAIN {\n$indented\n}\n}\n"
    }
}

private const val JAVA_MAIN = "public static void main(String[] args) throws Exception"

private class Command(
    val environment: Map<String, String>,
    val arguments: List<String>,
)

/** The command with which the page starts a class or script; without one in the page, the plain command. */
private fun Page.command(name: String): Command {
    val words = commands.map { it.split(' ') }.firstOrNull { name in it } ?: return Command(emptyMap(), emptyList())
    val environment = words.takeWhile { '=' in it }.associate { it.substringBefore('=') to it.substringAfter('=') }
    return Command(environment, words.drop(words.indexOf(name) + 1))
}

/** Without comments at the top and empty lines. */
private fun String.code() = lines().dropWhile { it.startsWith("//") }.filter { it.isNotBlank() }

/** The servers of a page, each of which ends with the client that the page shows behind it. */
private class RunningServers {
    /** An address of the loopback interface that no other program of this machine uses. */
    private val network = "127.${Random.nextInt(1, 255)}.${Random.nextInt(0, 255)}."
    private val processes = mutableListOf<Process>()
    private var last = 0

    /** A command with addresses of this page's own in place of 127.0.0.1 and the next one. */
    fun place(command: Command): Command {
        val server = "$network$last"
        return Command(
            command.environment.mapValues { (_, value) -> if (value == "udp") "udp:$network${++last}" else value },
            command.arguments.map { if (it == "127.0.0.1") server else it },
        )
    }

    fun check(
        file: ShownFile,
        process: Process,
    ) {
        if ("server" in file.name.lowercase()) {
            processes += process
            process.inputReader().readLine() + "\n" shouldBe file.output.shouldNotBeNull()
        } else {
            process.outcome() shouldBe Outcome(0, file.output.shouldNotBeNull())
            end()
        }
    }

    fun end() {
        processes.forEach { process ->
            process.descendants().forEach { it.destroy() }
            process.destroy()
        }
        processes.clear()
    }
}

private data class Outcome(
    val status: Int,
    val output: String,
)

private fun Process.outcome(): Outcome {
    var output = ""
    val reader = thread { output = inputReader().readText() }
    if (!waitFor(5, MINUTES)) destroyForcibly()
    reader.join()
    return Outcome(waitFor(), output)
}
