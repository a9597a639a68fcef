package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.samples.kverbs
import java.io.ByteArrayOutputStream
import java.io.File
import java.io.PrintStream
import java.util.concurrent.TimeUnit.MINUTES

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
                val console = System.out
                val printed = ByteArrayOutputStream()
                System.setOut(PrintStream(printed, true))
                val status =
                    try {
                        kverbs(listOf("sample", name, "-d", DEVICE))
                    } finally {
                        System.setOut(console)
                    }
                status shouldBe 0
                printed.toString() shouldBe text
            }
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
