package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import java.nio.file.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.nameWithoutExtension
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** The help of each command, as it is in `src/test/resources/help`. -Dapi.update writes these files anew. */
class HelpSpec :
    FunSpec({
        val folder = Path.of(System.getProperty("kverbs.root"), "diagnostics/src/test/resources/help")
        val commands = Commands.groups.values.flatten()

        for (command in listOf("ibtool") + commands) {
            test("should print the help that is written down: $command") {
                val outcome = if (command == "ibtool") Outcome("--help") else Outcome(command, "--help")
                val file = folder.createDirectories().resolve("$command.txt")
                if (System.getProperty("api.update") == "true") file.writeText("${outcome.out}")

                outcome.status shouldBe 0
                "${outcome.out}" shouldBe file.readText()
                if (command != "ibtool") "${outcome.out}" shouldContain "\nExamples:\n  ibtool $command"
            }
        }

        test("should have no help of a command that is gone") {
            folder.listDirectoryEntries().map { it.nameWithoutExtension } shouldContainExactlyInAnyOrder
                commands + "ibtool"
        }

        test("should have each command in the table of docs/ibtool.md") {
            val page = Path.of(System.getProperty("kverbs.root"), "docs/ibtool.md").readText()
            for (command in commands) withClue(command) { page shouldContain "| `$command`" }
        }
    })
