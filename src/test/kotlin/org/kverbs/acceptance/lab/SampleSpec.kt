package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import org.kverbs.samples.kverbs
import java.io.ByteArrayOutputStream
import java.io.File
import java.io.PrintStream
import java.util.concurrent.TimeUnit.MINUTES
import kotlin.random.Random

private const val DEVICE = "rxe0"

/** The samples and a script on a real device. */
internal class SampleSpec :
    FunSpec({
        listOf(
            "ten-lines" to "64 bytes came on $DEVICE: Hello, RDMA\n",
            "java-echo" to "device: $DEVICE\nserver: Hello, echo\nclient: Hello, echo\n",
            "echo" to "$DEVICE: Hello, coroutines\n",
            "counter" to "$DEVICE: 1000 counted, 1000 of them different, up to 999\n",
            "key-value" to "$DEVICE: answer = 42, question = null\n",
            "thousand-clients" to "$DEVICE: 1000 of 1000 clients were answered\n",
        ).forEach { (name, text) ->
            test("should run the sample $name") {
                printed("sample", name, "-d", DEVICE) shouldBe text
            }
        }

        test("should copy a file by $DEVICE") {
            val size = 5 * (1 shl 20) + 7
            val from = tempfile().apply { writeBytes(Random(size).nextBytes(size)) }
            val folder = tempdir()
            val text = printed("file", from.path, folder.path, "-d", DEVICE)
            text shouldMatch """$DEVICE: $size bytes in \d+\.\d\d seconds = \d+\.\d MB/s, checksums agree\n"""
            folder.list() shouldBe arrayOf(from.name)
            // Not "shouldBe": it would print megabytes if they differ.
            File(folder, from.name).readBytes().contentEquals(from.readBytes()) shouldBe true
        }

        test("should run a script on the device that it is told") {
            val script =
                ProcessBuilder("./kverbs", "script", "samples/scripts/service.main.kts", DEVICE, "10.99.0.1")
                    .directory(File(System.getProperty("kverbs.root")))
                    .redirectErrorStream(true)
                    .start()
            val text = script.inputReader().readText()
            check(script.waitFor(1, MINUTES)) { "the script did not end: $text" }
            withClue(text) {
                script.exitValue() shouldBe 0
                text shouldContain "$DEVICE: It says: Kilroy was here\n"
            }
        }
    })

/** What a command prints that ends well. */
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
