package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.hostileNet
import java.io.File
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.createSymbolicLinkPointingTo
import kotlin.io.path.fileSize
import kotlin.io.path.readText
import kotlin.io.path.writeText

private fun hasTshark(): Enabled {
    val isThere = System.getenv("PATH").split(File.pathSeparatorChar).any { File(it, "tshark").canExecute() }
    return if (isThere || System.getenv("KVERBS_REQUIRE_TOOLS") == "1") {
        Enabled.enabled
    } else {
        Enabled.disabled("tshark is missing: run 'apt-get install tshark', or ./verify, which does.")
    }
}

/** `-d`, `-e`, `-v` and `--pcap`. */
class TracingSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val fabric = arrayOf("--fabric", "hosts:2")

        fun run(vararg command: String): String {
            val process = ProcessBuilder(*command).redirectErrorStream(true).start()
            val text = process.inputReader().readText()
            withClue(text) { process.waitFor() shouldBe 0 }
            return text
        }

        test("should write each datagram to a file that tshark reads").config(enabledOrReasonIf = { hasTshark() }) {
            val file = folder.resolve("all.pcap")
            withClue({ "$file" }) { Outcome("smpquery", "NI", "2", "--pcap", "$file", *fabric).status shouldBe 0 }
            val fields = listOf("infiniband.mad.mgmtclass", "infiniband.mad.method", "infiniband.mad.attributeid")
            val shown =
                run("tshark", "-r", "$file", "-T", "fields", *fields.flatMap { listOf("-e", it) }.toTypedArray())
            shown.lines().filter { it.startsWith("0x") } shouldContainExactly
                listOf("0x01\t0x01\t0x0011", "0x01\t0x81\t0x0011")
        }

        test("should replace a plain file, and write only the datagrams of the last command") {
            val file = folder.resolve("old.pcap").also { it.writeText("old") }
            Outcome("smpquery", "NI", "2", "--pcap", "$file", *fabric).status shouldBe 0
            val size = file.fileSize()
            Outcome("smpquery", "NI", "2", "--pcap", "$file", *fabric).status shouldBe 0
            file.fileSize() shouldBe size
        }

        test("should not write through a symbolic link, nor to a device, a pipe or a folder") {
            val precious = folder.resolve("precious").also { it.writeText("mine") }
            val link = folder.resolve("link").createSymbolicLinkPointingTo(precious)
            val dangling = folder.resolve("dangling").createSymbolicLinkPointingTo(folder.resolve("nothing"))
            val pipe = folder.resolve("pipe").also { run("mkfifo", "$it") }
            for (path in listOf(link, dangling, Path.of("/dev/full"), pipe, folder)) {
                val outcome = Outcome("smpquery", "NI", "2", "--pcap", "$path", *fabric)
                withClue("$outcome") {
                    outcome.status shouldBe 255
                    "${outcome.err}" shouldContain "smpquery: --pcap $path is a"
                }
            }
            precious.readText() shouldBe "mine"
            Files.exists(folder.resolve("nothing")) shouldBe false
        }

        test("should end with a sentence where the file cannot be written") {
            val outcome = Outcome("smpquery", "NI", "2", "--pcap", "$folder/none/all.pcap", *fabric)
            outcome.status shouldBe 255
            "${outcome.err}" shouldBe
                "smpquery: --pcap $folder/none/all.pcap cannot be written: there is no folder $folder/none\n"
        }

        test("should show a line for each datagram with -d, and decode request and answer with -dd") {
            val lines = "${Outcome("smpquery", "NI", "2", "-d", *fabric).err}".trimEnd().lines()
            lines.map { it.substringBefore(' ') } shouldContainExactly listOf("SENT", "COMPLETED")
            val decoded = "${Outcome("smpquery", "NI", "2", "-dd", *fabric).err}"
            decoded shouldContain "SENT MAD_METHOD_GET(1)"
            decoded.substringAfter("COMPLETED") shouldContain "nodeType=SWITCH(2)"
        }

        test("should show with -e only what failed") {
            "${Outcome("smpquery", "NI", "2", "-e", *fabric).err}" shouldBe ""
            "${Outcome("smpdump", "2", "0x15", "99", "-e", *fabric).err}" shouldContain
                "COMPLETED MAD_METHOD_GET_RESP(129) SMPFormat(1.1) SMPPortInfo(21)"
            val lost = Outcome("smpquery", "NI", "77", "-e", "-t", "1", "--retries", "1", *fabric)
            "${lost.err}".lines().dropLast(1).map { it.substringBefore(' ') } shouldContainExactly
                listOf("UNDELIVERED", "RETRIED", "UNDELIVERED", "TIMED_OUT", "smpquery:")
        }

        test("should show the layers of an error with -v, and the datagrams with -vv") {
            fun error(vararg options: String) = "${Outcome("smpquery", "PI", "2", "99", *options, *fabric).err}"

            error() shouldNotContain "E: "
            error("-v") shouldContain "E: RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPPortInfo(21) got error status"
            error("-v") shouldNotContain "Request:"
            error("-vv") shouldContain "E: Request:"
            error("-vv").substringAfter("E: Reply:") shouldContain "status="
        }

        test("should not let a description move the cursor of a terminal when datagrams are shown") {
            val outcome = Outcome("smpquery", "ND", "-D", "0,1", "-dd", "--fabric", "${hostileNet(folder)}")
            outcome.status shouldBe 0
            for (line in outcome.err.lines()) withClue(line) { line.none { it.isISOControl() } shouldBe true }
        }
    })
