package org.kverbs.acceptance

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeSingleton
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.copyTo
import kotlin.io.path.createDirectories
import kotlin.io.path.div
import kotlin.io.path.walk
import kotlin.io.path.writeText
import kotlin.time.Duration.Companion.seconds

private const val PROGRAM = "home/bin/kverbs"

/** The archive, unpacked, with stand-ins for the JDK and the jars. */
@OptIn(ExperimentalPathApi::class)
private class Unpacked : AutoCloseable {
    val project = ScratchProject()
    private val caches = project.root / "caches"

    init {
        val archive = Path.of(System.getProperty("kverbs.root"), "cli/src/archive")
        (archive / "kverbs").copyTo((project.root / "home/bin/kverbs").apply { parent.createDirectories() })
        (project.root / "home/bin/kverbs").toFile().setExecutable(true)
        (archive / "aot.sh").copyTo((project.root / "home/lib/aot.sh").apply { parent.createDirectories() })
        project.file("home/kverbs-cli.jar", "commands")
        project.file("home/lib/kverbs-core.jar", "verbs")
        project.script("jdk/bin/java", JAVA)
    }

    fun run(
        vararg arguments: String,
        caches: String = "${this.caches}",
        javaHome: Path = project.root / "jdk",
    ): Outcome {
        val words = arrayOf("/usr/bin/env", "-u", "JAVA_HOME", "XDG_CACHE_HOME=$caches", *arguments)
        return project.run(*words, javaHome = javaHome)
    }

    /** The cache, once it is made. */
    suspend fun cache(): String = eventually(60.seconds) { found().also { it.shouldBeSingleton() }.single() }

    fun found() = caches.walk().map { "$it" }.filter { it.endsWith(".aot") }.toList()

    override fun close() = project.close()
}

class ArchiveSpec :
    FunSpec({
        test("should start the commands, through a link, too") {
            Unpacked().use {
                Files.createSymbolicLink(it.project.root / "link", it.project.root / PROGRAM)
                val outcome = it.run("./link", "devices", "a b")
                outcome shouldBe Outcome(0, "$OF_SHORT-jar\n${it.project.root}/home/kverbs-cli.jar\ndevices\na b\n")
                it.cache()
            }
        }

        test(
            "should have Kotlin's compiler in the class path for scripts alone, and show where their errors come from",
        ) {
            Unpacked().use {
                val jars = "${it.project.root}/home/kverbs-cli.jar:${it.project.root}/home/scripting/*"
                for (words in listOf(listOf("script", "a.main.kts"), listOf("--debug", "script", "a.main.kts"))) {
                    it.run(PROGRAM, *words.toTypedArray()).output shouldContain
                        (listOf(jars, "org.kverbs.cli.KverbsKt") + words).joinToString("\n")
                    it.cache()
                }
                it.run(PROGRAM, "devices").output shouldNotContain "scripting"
            }
        }

        test("should say what it needs where Java is older") {
            Unpacked().use {
                val old = it.project.file("jdk17/release", "JAVA_VERSION=\"17.0.15\"\n").parent
                it.run(PROGRAM, "devices", javaHome = old) shouldBe
                    Outcome(1, "kverbs: needs a JDK 25, and neither KVERBS_JAVA_HOME, JAVA_HOME nor the PATH has one\n")
            }
        }

        test("should make a cache of classes in the user's folder once, and another one when a jar was replaced") {
            Unpacked().use {
                it.run(PROGRAM, "devices").output shouldNotContain "AOT"
                val first = it.cache()
                val program = listOf("-jar", "${it.project.root}/home/kverbs-cli.jar", "devices", "")
                it.run(PROGRAM, "devices").output.lines() shouldBe
                    OF_SHORT.trim().lines() + "-XX:AOTCache=$first" + "-Xlog:cds*=off,aot*=off" + program
                (it.project.root / "home/lib/kverbs-core.jar").writeText("verBs")
                it.run(PROGRAM, "devices").output shouldNotContain "AOT"
                eventually(60.seconds) { it.cache() shouldNotBe first }
            }
        }

        test("should run without a cache where it can't write one") {
            Unpacked().use {
                val outcome = it.run(PROGRAM, "devices", caches = "/proc/none")
                outcome shouldBe Outcome(0, "$OF_SHORT-jar\n${it.project.root}/home/kverbs-cli.jar\ndevices\n")
                it.found() shouldBe emptyList()
            }
        }
    })
