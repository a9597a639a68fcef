package org.kverbs.cli.project

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.cli.Outcome
import java.io.File

/** `kverbs new`, in this process. */
class NewCommandSpec :
    FunSpec({
        val folder = tempdir()

        test("should write a project that has the name of its folder") {
            val project = File(folder, "parts/my-app")
            val outcome = Outcome("new", project.path)
            outcome.status shouldBe 0
            outcome.out shouldContain "cd $project && mvn verify\n"
            val files = project.walk().filter { it.isFile }.toList()
            files.map { it.toRelativeString(project) } shouldContainExactlyInAnyOrder
                listOf(
                    "pom.xml",
                    "README.md",
                    ".gitignore",
                    "src/main/kotlin/example/Echo.kt",
                    "src/test/kotlin/example/EchoSpec.kt",
                )
            val pom = File(project, "pom.xml").readText()
            pom shouldContain "<artifactId>my-app</artifactId>"
            pom shouldContain "<kotlin.version>${KotlinVersion.CURRENT}</kotlin.version>"
            files.filter { Regex("@[a-z]+@") in it.readText() }.shouldBeEmpty()
        }

        test("should refuse what is there, and leave it as it is") {
            val there = File(folder, "there").apply { mkdir() }
            val file = File(folder, "file").apply { writeText("mine") }
            for (path in listOf(there, file)) {
                val outcome = Outcome("new", path.path)
                outcome.status shouldBe 1
                outcome.err shouldBe "kverbs: $path is there already: give the name of a folder that does not exist\n"
            }
            there.list().orEmpty().toList().shouldBeEmpty()
            file.readText() shouldBe "mine"
        }

        test("should refuse what is no name for a project") {
            for (name in listOf("1st", "my app", "<app>")) {
                val outcome = Outcome("new", File(folder, name).path)
                outcome.status shouldBe 2
                outcome.err shouldContain "is no name for a project"
            }
            folder.list().orEmpty().joinToString() shouldNotContain "app>"
        }

        test("should say where it can't write") {
            val outcome = Outcome("new", "/proc/none/app")
            outcome.status shouldBe 1
            outcome.err shouldContain "kverbs: /proc/none/app can't be written"
        }
    })
