package org.kverbs.structures.generator

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.collections.shouldNotContain
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.structures.DescriptionException
import org.kverbs.structures.FANS
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import java.net.URLClassLoader
import java.nio.file.Path
import java.nio.file.attribute.FileTime
import kotlin.io.path.createDirectories
import kotlin.io.path.div
import kotlin.io.path.getLastModifiedTime
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readText
import kotlin.io.path.setLastModifiedTime
import kotlin.io.path.writeText

private const val AWKWARD = """
## A text with "quotes", a ${'$'}dollar, a \ and an end of a comment: */
enumeration When {
    in 1 "*/"
    object 0xffffffff
}

structure Awkward {
    When:32  when
    uint:8   in[2]
    uint:32  fun[2]
    uint:33  val
    reserved:7
    string:8 while[2]
    bytes:8  is[3]
    gid      object[1]
    gid      two[2]
}
"""

class GeneratorSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val sources = (folder / "sources").createDirectories()
        val target = folder / "target"
        (sources / "fans.iba").writeText(FANS)
        (sources / "awkward.iba").writeText(AWKWARD)
        Generator.generate("com.example.fans", sources, target)
        val made = target / "com/example/fans"

        test("should document each class and each field") {
            (made / "FanTray.kt").readText().let {
                it shouldContain " * Attribute 0x0010 of 0x09 version 1: Get, Set; modifier: tray.\n"
                it shouldContain "    /** The field `owner`. Bits 0 to 15. */\n    public var owner: Lid\n"
                it shouldContain "/** The field `levels`. Bits 160 to 189, 6 elements of 5 bits. */"
            }
            (made / "Fan.kt").readText() shouldContain "Bits 3 to 13, in units of rpm. */"
            (made / "FanRecord.kt").readText() shouldContain "Bits 32 to 95; unsigned; mask bits 2 to 3. */"
        }

        test("should write what compiles without a warning, and does what the description says") {
            val classes = folder / "classes"
            compile(target, classes).shouldBeEmpty()
            val loader = URLClassLoader(arrayOf(classes.toUri().toURL()), javaClass.classLoader)
            val type = loader.loadClass("com.example.fans.Fan").getField("Companion").get(null) as StructureType<*>
            val fan: Structure = type.at(ByteArray(type.byteSize))
            fan.javaClass.getMethod("setSpeed", Int::class.java).invoke(fan, 1200)
            fan["speed"] shouldBe 1200L
        }

        test("should let no wrong method, no wrong type and no query of what is no record compile") {
            val wrong = folder / "wrong"
            wrong.createDirectories()
            (wrong / "com").toFile().mkdirs()
            target.toFile().copyRecursively((wrong / "generated").toFile())
            (wrong / "Use.kt").writeText(
                """
                import com.example.fans.*
                import org.kverbs.structures.*

                internal fun <S> get(structure: S) where S : Structure, S : TakesGet { println(structure) }
                internal fun <S> set(structure: S) where S : Structure, S : TakesSet { println(structure) }

                internal fun use() {
                    get(FanTray())
                    get(FanRecord { lid = Lid(1) })
                    FanRecord.query { fan.speed = 3 }
                    set(FanRecord())
                    get(Fan())
                    Fan.query { speed = 3 }
                    Fan { state = 2 }
                }
                """.trimIndent(),
            )
            val said =
                compile(
                    wrong,
                    folder / "none",
                ).filter { it.startsWith("Use.kt") }.map { it.substringBefore(": ") }
            said.distinct() shouldBe listOf("Use.kt:11", "Use.kt:12", "Use.kt:13", "Use.kt:14")
        }

        test("should remove what is described no more, and leave alone what stayed as it was") {
            val old = FileTime.fromMillis(1_000_000)
            (made / "Fan.kt").setLastModifiedTime(old)
            (sources / "awkward.iba").writeText("structure Other {\n uint:8 x\n}")
            Generator.generate("com.example.fans", sources, target)
            val names = made.listDirectoryEntries().map { it.name }
            names shouldNotContain "Awkward.kt"
            names shouldContain "Other.kt"
            (made / "Fan.kt").getLastModifiedTime() shouldBe old
        }

        test("should write nothing for a wrong description, and name its file and line") {
            val wrong = (folder / "wrong-sources").createDirectories()
            (wrong / "fans.iba").writeText("structure Fan {\n uint:9 a\n}")
            shouldThrow<DescriptionException> {
                Generator.generate(
                    "x",
                    wrong,
                    folder / "nothing",
                )
            }.message!! shouldStartWith
                "fans.iba:1: "
            (folder / "nothing").toFile().walk().filter { it.isFile }.toList() shouldHaveSize 0
            val empty = (folder / "empty").createDirectories()
            shouldThrow<IllegalArgumentException> {
                Generator.generate(
                    "x",
                    empty,
                    folder / "nothing",
                )
            }.message!! shouldContain
                "has no file *.iba"
        }

        test("should end with status 1 and the line of the mistake, or with 2 for wrong arguments") {
            fun run(vararg arguments: String): Pair<Int, String> {
                val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
                val command =
                    listOf(java, "-cp", System.getProperty("java.class.path"), Generator::class.java.name) + arguments
                val process = ProcessBuilder(command).redirectErrorStream(true).start()
                val output = process.inputReader().readText()
                return process.waitFor() to output
            }
            run("x", "${folder / "wrong-sources"}", "${folder / "nothing"}") shouldBe
                (1 to "fans.iba:1: Fan has 9 bits, no whole bytes; put reserved:7 at its end\n")
            run("x").first shouldBe 2
        }

        test("should refuse a field that a class can't have") {
            val wrong = (folder / "taken").createDirectories()
            (wrong / "x.iba").writeText("structure X {\n uint:8 memory\n}")
            shouldThrow<DescriptionException> { Generator.generate("x", wrong, folder / "nothing") }.message shouldBe
                "x.iba:2: X can't have a field memory; name it storage"
        }
    })
