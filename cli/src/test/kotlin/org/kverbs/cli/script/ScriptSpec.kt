package org.kverbs.cli.script

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.Diagnostics
import org.kverbs.cli.Outcome
import java.io.File

private val samples = File(System.getProperty("kverbs.root"), "samples/scripts")

/** `kverbs script`, in this process. */
class ScriptSpec :
    FunSpec({
        val folder = tempdir()

        fun script(
            name: String,
            text: String,
        ) = File(folder, "$name.main.kts").apply { writeText(text) }.path

        val said =
            mapOf(
                "devices" to
                    "embedded0 (embedded): ACTIVE, ::ffff:198.18.0.1\nembedded1 (embedded): ACTIVE, " +
                    "::ffff:198.18.0.2\n",
                "ping" to "embedded0: there and back again\n",
                "counter" to "embedded0: 1000 tickets, all different, up to 999\n",
                "service" to "embedded0: Nobody was here\nembedded0: It says: Kilroy was here\n",
            )

        for ((name, text) in said) {
            test("should run the sample $name") {
                val outcome = Outcome("script", "$samples/$name.main.kts")
                withClue(outcome) {
                    outcome.status shouldBe 0
                    outcome.out shouldContain text
                    outcome.err.shouldBeEmpty()
                }
            }
        }

        test("should run the script that docs/scripts.md shows, which imports nothing") {
            val page = File(System.getProperty("kverbs.root"), "docs/scripts.md").readText()
            val text = Regex("```kts\n(.*?)```", RegexOption.DOT_MATCHES_ALL).findAll(page).single().groupValues[1]
            val outcome = Outcome("script", script("hello", text))
            withClue(outcome) { outcome.out shouldBe "Hello, script\n" }
        }

        test("should compile for kverbs' own version of Java, whose functions are inline, imported scripts, too") {
            script("given", "fun four() = resourceScope { own(openDevice(\"embedded0\")).use { 4 } }")
            val text =
                """
                @file:Import("given.main.kts")
                import org.kverbs.dsl.openDevice
                import org.kverbs.dsl.resourceScope

                println(resourceScope { own(openDevice("embedded1")).device().name() } + four())
                """.trimIndent()
            val outcome = Outcome("script", script("inline", text))
            withClue(outcome) { outcome.out shouldBe "embedded14\n" }
        }

        test("should say why a library that a script asks for is not to be had") {
            val wanted = "@file:DependsOn(\"org.example:nothing:1.2.3\")\nprintln(1)"
            val path = script("library", "@file:Repository(\"file://$folder/repository\")\n$wanted")
            val outcome = Outcome("script", path)
            withClue(outcome) {
                outcome.status shouldBe 1
                outcome.err shouldContain "kverbs: $path:2:1: File 'org.example:nothing:1.2.3' not found\n"
                outcome.err shouldContain "Could not find artifact org.example:nothing:jar:1.2.3"
                outcome.err shouldNotContain "Exception"
            }
        }

        test("should hold no memory for clients of the sample service that have gone") {
            // In the device's domain, since the end of a domain of the connection's own would hide a region that nobody
            // closes.
            val changes =
                listOf(
                    "rdmaServer(0, device, " to "rdmaServer(0, device, { sharedDomain() }, ",
                    "    server.cancel()" to
                        """
                        repeat(5) { rdmaClient(address, port.await(), device) { it.awaitRemote("board") } }
                        withTimeoutOrNull(10_000) { while (regions() > 0) delay(1) }
                        println("regions: ${'$'}{regions()}")
                        server.cancel()
                        """.trimIndent(),
                )
            val service = File(samples, "service.main.kts").readText()
            changes.forEach { (from) -> service shouldContain from }
            val counted =
                changes.fold(service) { text, (from, to) -> text.replace(from, to) } +
                    "\nfun regions() = Diagnostics.openResources().count { it.resource() is MemoryRegion }\n"
            Diagnostics.enable()
            val outcome =
                try {
                    Outcome("script", script("counted", counted))
                } finally {
                    Diagnostics.disable()
                }
            withClue(outcome) {
                outcome.status shouldBe 0
                outcome.out shouldContain "regions: 0\n"
            }
        }

        test("should have tested every sample there is") {
            val inTwoTerminals = setOf("echo-server", "echo-client") // TwoTerminalsSpec runs them
            samples.list().orEmpty().map { it.removeSuffix(".main.kts") }.toSet() shouldBe said.keys + inTwoTerminals
        }

        test("should run a script on the device of its arguments, and leave it what looks like an option") {
            Outcome("script", "$samples/ping.main.kts", "embedded1").out shouldBe "embedded1: there and back again\n"
            Outcome("script", script("args", "println(args.toList())"), "a", "--device", "-h").out shouldBe
                "[a, --device, -h]\n"
        }

        test("should run what a script is now, and not what it was") {
            for (number in 1..2) Outcome("script", script("same", "println($number)")).out shouldBe "$number\n"
        }

        test("should run what an imported script is now") {
            val main = script("importing", "@file:Import(\"imported.main.kts\")\nprintln(imported)")
            for (number in 1..2) {
                script("imported", "val imported = $number")
                Outcome("script", main).out shouldBe "$number\n"
            }
        }

        test("should compile a script once as long as it is the same") {
            val path = script("once", "println(object {}.javaClass.protectionDomain.codeSource.location)")
            val first = Outcome("script", path)
            val jar = File(java.net.URI(first.out.trim()))
            val made = jar.lastModified()
            Outcome("script", path).out shouldBe first.out
            jar.lastModified() shouldBe made
        }

        test("should name file, line and column of each error, with exit status 1, and run nothing") {
            val path = script("wrong", "println(\"begun\")\nval number: Int = \"text\"\nnonsense()\n")
            val outcome = Outcome("script", path)
            outcome.status shouldBe 1
            outcome.out.shouldBeEmpty()
            outcome.err.lines()[0] shouldContain "kverbs: $path:2:17: Initializer type mismatch"
            outcome.err.lines()[1] shouldContain "kverbs: $path:3:1: Unresolved reference 'nonsense'"
        }

        test(
            "should name file and line where a script throws, with exit status 1, and where it comes from with --debug",
        ) {
            val path =
                script("throws", "import org.kverbs.dsl.openDevice\n\nfun open() = openDevice(\"nope\")\nopen()\n")
            val outcome = Outcome("script", path)
            outcome.status shouldBe 1
            outcome.err shouldContain "kverbs: $path:3: no RDMA device found (asked for: device 'nope')"
            Outcome("--debug", "script", path).err shouldContain "at Throws_main.<init>(throws.main.kts:4)"
            val other = script("checks", "check(args.isNotEmpty()) { \"give me an argument\" }")
            Outcome("script", other).err shouldBe
                "kverbs: $other:1: java.lang.IllegalStateException: give me an argument\n"
        }

        test("should refuse a file that is not there, or is no script, with exit status 2") {
            Outcome("script", "$folder/nothing.main.kts").let {
                it.status shouldBe 2
                it.err shouldContain "there is no file to read at $folder/nothing.main.kts"
            }
            Outcome("script", File(folder, "plain.kt").apply { writeText("fun main() = Unit") }.path).let {
                it.status shouldBe 2
                it.err shouldContain "the name of a script ends with .main.kts"
            }
        }
    })
