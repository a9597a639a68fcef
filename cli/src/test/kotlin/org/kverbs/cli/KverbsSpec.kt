package org.kverbs.cli

import io.kotest.core.spec.style.FunSpec
import io.kotest.datatest.withData
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.Device

/** The command line on a machine without a device, or with the devices of one. */
internal class KverbsSpec :
    FunSpec({
        listOf(listOf(), listOf("help"), listOf("--help")).forEach { arguments ->
            test("should list its commands in groups: kverbs ${arguments.joinToString(" ")}") {
                val help = Outcome(*arguments.toTypedArray())
                help.status shouldBe 0
                help.err.shouldBeEmpty()
                help.out.lines().filter { it.endsWith(":") } shouldBe
                    listOf("Look at the devices:", "Try them out:", "Write programs:", "Get help:", "Options:")
                val listed = TOOLS + listOf("script", "new", "help")
                listed.forEach { help.out.lines().count { line -> line.startsWith("  $it ") } shouldBe 1 }
            }
        }

        for (command in TOOLS + listOf("script", "new", "help", "completion")) {
            test("should explain $command, with lines that fit") {
                val help = Outcome("help", command)
                help.status shouldBe 0
                help.out shouldStartWith "Usage: kverbs $command"
                help.out shouldBe Outcome(command, "--help").out
                help.out.lines().filter { it.length > 100 }.shouldBeEmpty()
            }
        }

        for (command in TOOLS - "sample" + "completion") {
            test("should show examples of $command that begin as its command line") {
                val examples = Outcome(command, "--help").out.substringAfter("Examples:\n").lines()
                examples.count { "kverbs $command" in it } shouldBeGreaterThan 1
            }
        }

        test("should tell of each sample what it shows, in one line") {
            val lines = Outcome("sample", "--help").out.substringAfter("Programs:\n").lines()
            val named = lines.mapNotNull { Regex("  ([a-z-]+)  +[A-Z].*\\.").matchEntire(it)?.groupValues?.get(1) }
            named shouldContainAll listOf("ten-lines", "java-service", "echo", "topology", "fabric-changes")
            lines.filter { it.startsWith("  ") } shouldHaveSize named.size
        }

        context("should suggest what a misspelt word may stand for, with the usage of the command that it is in") {
            withData(
                nameFn = { (arguments, _) -> arguments },
                "divices" to listOf("no such subcommand divices. Did you mean devices?", "Try kverbs --help"),
                "help divices" to listOf("no such subcommand divices. Did you mean devices?", "Try kverbs --help"),
                "devinfo --verbos" to
                    listOf("no such option --verbos. Did you mean --verbose?", "Try kverbs devinfo --help"),
                "devinfo -i 9" to listOf("has ports 1 to 1, not 9", "Usage: kverbs devinfo [OPTIONS]\n"),
                "sample topolgy" to
                    listOf(
                        "no such sample topolgy. Did you mean topology?",
                        "Try kverbs sample --help",
                    ),
                "sample whatever" to listOf("no such sample whatever", "Try kverbs sample --help"),
                "file nothing /tmp" to listOf("there is no file to read at nothing", "Usage: kverbs file"),
            ) { (arguments, said) ->
                val outcome = Outcome(*arguments.split(' ').toTypedArray())
                outcome.status shouldBe 2
                said.forEach { outcome.err shouldContain it }
                outcome.err shouldStartWith "Error: "
            }
        }

        for (shell in listOf("bash", "zsh", "fish")) {
            test("should print a completion for $shell that knows the commands and their options") {
                val script = Outcome("completion", shell)
                script.status shouldBe 0
                listOf("devices", "pingpong", "warm-up", "thousand-clients").forEach { script.out shouldContain it }
            }
        }

        test("should print devices as JSON") {
            val devices = Json.parseToJsonElement(Outcome("devices", "--json").out).jsonArray.map { it.jsonObject }
            devices.map { it.getValue("name").jsonPrimitive.content } shouldBe Device.list().map { it.name() }
            devices.last().getValue("port1").jsonObject.getValue("state").jsonPrimitive.content shouldBe "ACTIVE"
        }

        test("should print what a device is and can do as JSON") {
            val text = Outcome("devinfo", "-d", "embedded1", "--json").out
            val device = Json.parseToJsonElement(text).jsonArray.single().jsonObject
            device.getValue("name").jsonPrimitive.content shouldBe "embedded1"
            Device.byName("embedded1").open().use {
                val limits = device.getValue("limits").jsonObject
                limits.getValue("maxQueuePairs").jsonPrimitive.int shouldBe it.queryDevice().maxQp()
            }
            val port = device.getValue("ports").jsonArray.single().jsonObject
            port.getValue("gids").jsonObject.getValue("1").jsonPrimitive.content shouldBe "::ffff:198.18.0.2"
            Json.parseToJsonElement(Outcome("devinfo", "-l", "--json").out).jsonArray.size shouldBe Device.list().size
        }

        test("should write plain text where the output is no terminal") {
            Outcome("--help").out shouldNotContain "\u001b"
            Outcome("devices").out.lines().first().split(Regex(" +")).size shouldBe 9
            Outcome("nonsense").err shouldNotContain "\u001b"
        }

        context("should refuse a wrong command line with status 2 and say what is wrong") {
            withData(
                nameFn = { (arguments, _) -> arguments.joinToString(" ") },
                listOf("devinfo", "--wrong") to "--wrong",
                listOf("nonsense") to "nonsense",
                listOf("devinfo", "-i", "0") to "0",
                listOf("pingpong", "--type", "xrc") to "xrc",
                listOf("pingpong", "-s", "-1") to "-1",
                listOf("pingpong", "-m", "1000") to "1000",
            ) { (arguments, named) ->
                val outcome = Outcome(*arguments.toTypedArray())
                outcome.status shouldBe 2
                outcome.err shouldContain named
                outcome.out.shouldBeEmpty()
            }
        }

        val names = Device.list().map { it.name() }

        context("should name the devices that there are, in one sentence, for one that is not there") {
            withData(
                nameFn = { it.joinToString(" ") },
                listOf("devinfo"),
                listOf("pingpong"),
                listOf("pingpong", "--listen"),
                listOf("pingpong", "localhost"),
                listOf("sample", "ten-lines"),
                listOf("sample", "java-echo"),
            ) { command ->
                for (option in listOf("-d", "--device", "--ib-dev")) {
                    val outcome = Outcome(*command.toTypedArray(), option, "none_such")
                    outcome.status shouldBe 1
                    outcome.err shouldBe
                        "kverbs: there is no device 'none_such'; this machine has ${names.joinToString()}\n"
                    outcome.out.shouldBeEmpty()
                }
            }
        }

        context("should run on the device that was asked for, and name it") {
            withData(listOf(names.first(), "embedded0", "embedded1").distinct()) { name ->
                Outcome("sample", "ten-lines", "--device", name).let {
                    it.status shouldBe 0
                    it.out shouldBe "64 bytes came on $name: Hello, RDMA\n"
                }
                Outcome("sample", "java-echo", "-d", name).let {
                    it.status shouldBe 0
                    it.out shouldBe "device: $name\nserver: Hello, echo\nclient: Hello, echo\n"
                }
                Outcome("devinfo", "-d", name).out shouldStartWith "hca_id:\t$name\n"
            }
        }

        test("should run samples on the first device if none is asked for") {
            Outcome("sample", "ten-lines").out shouldContain " on ${names.first()}: "
            Outcome("sample", "java-echo").out shouldContain "device: ${names.first()}\n"
        }

        context("should serve coroutines on the device that was asked for") {
            withData(
                nameFn = { (sample, device, _) -> "$sample on $device" },
                Triple("echo", "embedded0", "embedded0: Hello, coroutines\n"),
                Triple("echo", "embedded1", "embedded1: Hello, coroutines\n"),
                Triple("counter", "embedded0", "embedded0: 1000 counted, 1000 of them different, up to 999\n"),
                Triple("key-value", "embedded0", "embedded0: answer = 42, question = null\n"),
                Triple("java-endpoint", "embedded0", "embedded0: Hello, endpoint\n"),
                Triple("java-service", "embedded1", "embedded1: 20 of 20 clients were greeted\n"),
                Triple("workers", "embedded1", "embedded1: 3 workers told 8 clients the squares 0 1 4 9 16 25 36 49\n"),
                Triple(
                    "reconnecting",
                    "embedded0",
                    "embedded0: the first server: one\nembedded0: the first server: two\nembedded0: the second " +
                        "server: three\n",
                ),
                Triple("upload", "embedded0", "embedded0: got 5000000 bytes, the same\n"),
                Triple(
                    "vault",
                    "embedded0",
                    "embedded0: the gold is in the cellar\nembedded0: rejected with another secret\n",
                ),
                Triple(
                    "orders",
                    "embedded0",
                    """
                    embedded0: bolt, nut in stock
                    embedded0: 15150 cents for 100 orders
                    embedded0: refused: no piano here
                    embedded0: too late: "order" was not answered within 50ms

                    """.trimIndent(),
                ),
                Triple("thousand-clients", "embedded0", "embedded0: 1000 of 1000 clients were answered\n"),
            ) { (sample, device, said) ->
                val outcome = Outcome("sample", sample, "--device", device)
                outcome.err.shouldBeEmpty()
                outcome.out shouldBe said
                outcome.status shouldBe 0
            }
        }

        test("should draw the simulated fabric, which is sound, without a red link") {
            Outcome("sample", "topology").out shouldNotContain "red"
        }

        context("should ask a simulated fabric by a sample without a port of this machine") {
            withData(
                "topology" to "graph subnet {",
                "port-rates" to "B/s in",
                "fabric-changes" to "\"H-2\"",
            ) { (sample, said) ->
                val outcome = Outcome("sample", sample)
                outcome.err.shouldBeEmpty()
                outcome.out shouldContain said
                outcome.status shouldBe 0
            }
        }
    })

/** The commands that are there to look at devices and to try them out. */
private val TOOLS = listOf("devices", "devinfo", "top", "pingpong", "perf", "file", "sample", "bench", "lab")
