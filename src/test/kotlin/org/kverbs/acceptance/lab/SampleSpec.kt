package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import org.kverbs.cli.kverbs
import java.io.ByteArrayOutputStream
import java.io.File
import java.io.PrintStream
import java.util.concurrent.TimeUnit.MINUTES
import kotlin.random.Random

private const val ROCE = "rxe0"

/**
 * A device whose queue pairs only the connection manager connects, and without atomics: samples that need either are
 * left out.
 */
private const val IWARP = "siw0"

/** Runs the samples and a script on real devices. */
internal class SampleSpec :
    FunSpec({
        mapOf(
            ROCE to
                listOf(
                    "ten-lines" to "64 bytes came on $ROCE: Hello, RDMA\n",
                    "java-echo" to "device: $ROCE\nserver: Hello, echo\nclient: Hello, echo\n",
                    "echo" to "$ROCE: Hello, coroutines\n",
                    "counter" to "$ROCE: 1000 counted, 1000 of them different, up to 999\n",
                    "key-value" to "$ROCE: answer = 42, question = null\n",
                    "java-endpoint" to "$ROCE: Hello, endpoint\n",
                    "java-service" to "$ROCE: 20 of 20 clients were greeted\n",
                    "workers" to "$ROCE: 3 workers told 8 clients the squares 0 1 4 9 16 25 36 49\n",
                    "vault" to "$ROCE: the gold is in the cellar\n$ROCE: rejected with another secret\n",
                    "upload" to "$ROCE: got 5000000 bytes, the same\n",
                    "orders" to orders(ROCE),
                    "reconnecting" to reconnecting(ROCE),
                    "thousand-clients" to "$ROCE: 1000 of 1000 clients were answered\n",
                ),
            IWARP to
                listOf(
                    "echo" to "$IWARP: Hello, coroutines\n",
                    "key-value" to "$IWARP: answer = 42, question = null\n",
                    "java-endpoint" to "$IWARP: Hello, endpoint\n",
                    "java-service" to "$IWARP: 20 of 20 clients were greeted\n",
                    "vault" to "$IWARP: the gold is in the cellar\n$IWARP: rejected with another secret\n",
                    "upload" to "$IWARP: got 5000000 bytes, the same\n",
                    "orders" to orders(IWARP),
                    "reconnecting" to reconnecting(IWARP),
                ),
        ).forEach { (device, samples) ->
            samples.forEach { (name, text) ->
                test("should run the sample $name on $device") {
                    printed("sample", name, "-d", device) shouldBe text
                }
            }
        }

        for (device in listOf(ROCE, IWARP)) {
            test("should copy a file by $device") {
                val size = 5 * (1 shl 20) + 7
                val from = tempfile().apply { writeBytes(Random(size).nextBytes(size)) }
                val folder = tempdir()
                val text = printed("file", from.path, folder.path, "-d", device)
                text shouldMatch """$device: $size bytes in \d+\.\d\d seconds = \d+\.\d MB/s, checksums agree\n"""
                folder.list() shouldBe arrayOf(from.name)
                // Not "shouldBe", which would print megabytes if they differ.
                File(folder, from.name).readBytes().contentEquals(from.readBytes()) shouldBe true
            }
        }

        for ((device, address) in listOf(ROCE to "10.99.0.1", IWARP to "10.97.0.1")) {
            test("should run a script on $device, as it is told") {
                val script =
                    ProcessBuilder("./kverbs", "script", "samples/scripts/service.main.kts", device, address)
                        .directory(File(System.getProperty("kverbs.root")))
                        .redirectErrorStream(true)
                        .start()
                val text = script.inputReader().readText()
                check(script.waitFor(1, MINUTES)) { "the script did not end: $text" }
                withClue(text) {
                    script.exitValue() shouldBe 0
                    text shouldContain "$device: It says: Kilroy was here\n"
                }
            }
        }
    })

private fun orders(device: String) =
    "$device: bolt, nut in stock\n$device: 15150 cents for 100 orders\n$device: refused: no piano here\n" +
        "$device: too late: \"order\" was not answered within 50ms\n"

private fun reconnecting(device: String) =
    "$device: the first server: one\n$device: the first server: two\n$device: the second server: three\n"

/** Returns the output of a command, which must succeed. */
private fun printed(vararg arguments: String): String {
    val console = System.out
    val printed = ByteArrayOutputStream()
    System.setOut(PrintStream(printed, true))
    val status =
        try {
            kverbs(arguments.toList())
        } finally {
            System.setOut(console)
        }
    withClue(printed) { status shouldBe 0 }
    return printed.toString()
}
