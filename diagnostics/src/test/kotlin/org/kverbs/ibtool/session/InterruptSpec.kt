package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.Outcome
import java.nio.file.Path
import java.util.concurrent.TimeUnit.MINUTES
import kotlin.concurrent.thread
import kotlin.io.path.exists
import kotlin.io.path.readText
import kotlin.time.Duration.Companion.minutes

private const val HOSTS = 10_240

/** A command as a program of its own, which gets Ctrl-C while it discovers a large fabric. */
class InterruptSpec :
    FunSpec({
        timeout = 5.minutes.inWholeMilliseconds
        val folder = tempdir().toPath()
        val java = Path.of(System.getProperty("java.home"), "bin", "java")

        test("should print what was found until Ctrl-C, say so, and end with 130") {
            val out = folder.resolve("out")
            val cache = folder.resolve("cache")
            // A process in the background of a shell ignores Ctrl-C, and so do those that it starts.
            val command =
                listOf("env", "--default-signal=INT", "$java", "-XX:TieredStopAtLevel=1", "-cp") +
                    listOf(System.getProperty("java.class.path"), "org.kverbs.ibtool.IbToolKt", "ibhosts") +
                    listOf("--debug", "--fabric", "hosts:$HOSTS", "--cache", "$cache")
            val process = ProcessBuilder(command).redirectOutput(out.toFile()).start()
            // Nothing is read behind the first lines until the signal is sent, so the discovery cannot end before.
            val trace = process.errorReader()
            repeat(100) { trace.readLine() }
            ProcessBuilder("kill", "-INT", "${process.pid()}").start().waitFor() shouldBe 0
            var last = ""
            val reader = thread { trace.forEachLine { last = "$last\n$it".takeLast(1000) } }
            process.waitFor(3, MINUTES) shouldBe true
            reader.join()
            withClue(last) { process.exitValue() shouldBe 130 }
            last shouldContain "\n--cache $cache is not written: the discovery was interrupted"
            last shouldContain "\nibhosts: interrupted; this is what was found so far"
            out.readText().lines().size shouldBeInRange 1..HOSTS
            cache.exists() shouldBe false
        }

        test("should change nothing when Ctrl-C comes before the fabric is known") {
            for (command in listOf("ibclearcounters", "ibclearerrors", "init_all_ports")) {
                val words =
                    listOf("env", "--default-signal=INT", "$java", "-XX:TieredStopAtLevel=1", "-cp") +
                        listOf(System.getProperty("java.class.path"), "org.kverbs.ibtool.IbToolKt", command) +
                        listOf("--debug", "--fabric", "hosts:$HOSTS")
                val process = ProcessBuilder(words).redirectOutput(folder.resolve("out").toFile()).start()
                val trace = process.errorReader()
                repeat(100) { trace.readLine() }
                ProcessBuilder("kill", "-INT", "${process.pid()}").start().waitFor() shouldBe 0
                var last = ""
                var sets = 0
                val reader =
                    thread {
                        trace.forEachLine {
                            if ("METHOD_SET(" in it) sets++
                            last = "$last\n$it".takeLast(1000)
                        }
                    }
                process.waitFor(3, MINUTES) shouldBe true
                reader.join()
                withClue("$command: $last") {
                    process.exitValue() shouldBe 130
                    last shouldContain "$command: interrupted, and nothing was changed"
                    sets shouldBe 0
                }
            }
        }
    })
