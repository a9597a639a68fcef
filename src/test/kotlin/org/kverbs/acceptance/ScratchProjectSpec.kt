package org.kverbs.acceptance

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.createTempDirectory
import kotlin.io.path.createTempFile
import kotlin.io.path.deleteExisting
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.isExecutable
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** Checks that the stand-ins of a [ScratchProject] do not reach the machine's own tools, which are behind links. */
class ScratchProjectSpec :
    FunSpec({
        fun behindALink(
            name: String,
            block: (project: ScratchProject, tool: Path) -> Unit,
        ) {
            val tool = createTempFile("tool").apply { writeText("the machine's") }
            try {
                ScratchProject().use {
                    Files.createSymbolicLink(it.root / name, tool)
                    block(it, tool)
                    tool.readText() shouldBe "the machine's"
                    tool.isExecutable() shouldBe false
                }
            } finally {
                tool.deleteExisting()
            }
        }

        test("should replace the link to a tool by a stand-in, and leave the tool as it is") {
            behindALink("bin/tool") { project, _ ->
                project.program("tool", "echo a stand-in")
                project.run("bash", "-c", "tool") shouldBe Outcome(0, "a stand-in\n")
            }
        }

        test("should replace a link by a script or a file of the project") {
            behindALink("lab/lab.sh.link") { project, _ -> project.script("lab/lab.sh.link", "echo a script") }
            behindALink("link") { project, _ -> project.file("link", "a file").readText() shouldBe "a file" }
        }

        test("should delete links, and not what they lead to") {
            val folder = createTempDirectory("machine")
            val kept = (folder / "kept").apply { writeText("the machine's") }
            ScratchProject().use { Files.createSymbolicLink(it.root / "folder", folder) }
            kept.exists() shouldBe true
            kept.deleteExisting()
            folder.deleteExisting()
        }
    })
