package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import java.nio.file.Files
import kotlin.io.path.createDirectory
import kotlin.io.path.readText
import kotlin.io.path.writeText

private const val NET = "Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n\nCa 1 \"H-1\"\n[1] \"S-1\"[1]\n"

/** A file that the command line names twice, once by a link. */
class LinkedFilesSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val inner = folder.resolve("inner").createDirectory()
        val net = inner.resolve("fabric.net")
        Files.createSymbolicLink(folder.resolve("symbolic"), net)
        Files.createSymbolicLink(folder.resolve("linked"), inner)

        test("should not write over a file that a link names for something else") {
            net.writeText(NET)
            Files.createLink(folder.resolve("hard"), net)
            for (name in listOf("symbolic", "linked/fabric.net", "hard", "linked/../inner/fabric.net")) {
                val outcome = Outcome("ibhosts", "--fabric", "$folder/$name", "--pcap", "$net")
                withClue("$name: $outcome") { outcome.status shouldBe 2 }
                "${outcome.err}" shouldContain "name one file, "
                net.readText() shouldBe NET
            }
        }

        test("should see that two files that are not there yet are one, in a folder behind a link") {
            val outcome =
                Outcome("ibhosts", "--fabric", "hosts:2", "--cache", "$inner/new", "--pcap", "$folder/linked/new")
            withClue("$outcome") { outcome.status shouldBe 2 }
        }
    })
