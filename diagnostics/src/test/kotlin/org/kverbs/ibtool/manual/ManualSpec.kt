package org.kverbs.ibtool.manual

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.ibtool.Commands
import org.kverbs.ibtool.Outcome
import java.io.File

private fun hasGroff(): Enabled {
    val isThere = System.getenv("PATH").split(File.pathSeparatorChar).any { File(it, "groff").canExecute() }
    return if (isThere) Enabled.enabled else Enabled.disabled("groff is missing: run 'apt-get install groff-base'")
}

/** `ibtool man`, whose pages groff itself reads. */
class ManualSpec :
    FunSpec({
        val folder = tempdir()
        val commands = Commands.groups.values.flatten()
        val outcome by lazy { Outcome("man", folder.path) }

        fun groff(file: File): Pair<String, String> {
            val process = ProcessBuilder("groff", "-man", "-Tascii", "-ww", "-P-cbou", file.path).start()
            val errors = process.errorReader()
            val text = process.inputReader().readText()
            process.waitFor() shouldBe 0
            return text to errors.readText()
        }

        test("should write a page of each command, and one of all") {
            withClue("$outcome") { outcome.status shouldBe 0 }
            folder.list()!!.toList() shouldContainExactlyInAnyOrder (commands.map { "ibtool-$it.8" } + "ibtool.8")
        }

        for (command in listOf("ibtool") + commands) {
            val name = if (command == "ibtool") "ibtool" else "ibtool-$command"

            test("should write a page with name, synopsis, options and examples: $name") {
                outcome.status shouldBe 0
                val page = File(folder, "$name.8").readText()
                page shouldStartWith ".TH \"${name.uppercase()}\" 8 "
                for (title in listOf("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS")) page shouldContain "\n.SH $title\n"
                if (command != "ibtool") page shouldContain "\n.SH EXAMPLES\n.nf\nibtool $command"
            }

            test("should write a page that groff formats without a warning: $name")
                .config(enabledOrReasonIf = { hasGroff() }) {
                    outcome.status shouldBe 0
                    val (text, errors) = groff(File(folder, "$name.8"))
                    errors shouldBe ""
                    text shouldContain "SYNOPSIS"
                    // Each word of the help is in the page.
                    text.replace(Regex("\\s"), "") shouldContain "--help"
                }
        }
    })
