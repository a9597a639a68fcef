package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.ibtool
import kotlin.io.path.exists
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** Ctrl-C at a chosen moment of a command in this process. */
class PressedSpec :
    FunSpec({
        timeout = 60_000
        val folder = tempdir().toPath()

        class Pressed(
            line: String,
            times: Map<Int, Set<Int>>,
        ) {
            val out = StringBuilder()
            val err = StringBuilder()
            val exits = ArrayList<Int>()
            val status: Int

            init {
                val interrupt = Interrupt { exits += it }
                val surroundings = Surroundings(interrupt = interrupt) { Pressing(it, interrupt, times) }
                status = ibtool(line.split(' ') + listOf("--fabric", "hosts:6"), out, err, surroundings)
            }

            override fun toString() = "exit status $status, exits $exits\n$out$err"
        }

        test("should begin no new look of --watch behind Ctrl-C") {
            for ((command, times) in listOf(
                "ibqueryerrors" to mapOf(Pressing.PERFORMANCE to setOf(3)),
                "ibdatacounters" to mapOf(Pressing.DIRECTED to setOf(20)),
            )) {
                val pressed = Pressed("$command --watch 0.01 --cycles 5", times)
                withClue("$pressed") {
                    pressed.status shouldBe 130
                    pressed.out.lines().count { "## Summary" in it } shouldBe 1
                    pressed.exits shouldBe emptyList()
                }
                "${pressed.err}" shouldContain "$command: interrupted; this is what was found so far"
            }
        }

        test("should end at the second Ctrl-C though the first one ended an earlier stage") {
            val times = mapOf(Pressing.DIRECTED to setOf(20), Pressing.PERFORMANCE to setOf(1))
            val pressed = Pressed("ibqueryerrors", times)
            withClue("$pressed") { pressed.exits shouldBe listOf(130) }
        }

        for (line in listOf("ibnetdiscover", "ibnetdiscover --json", "ibnetdiscover -l", "map", "map --dot")) {
            test("should not write a part of the fabric over a file behind Ctrl-C: $line") {
                val file = folder.resolve("taken").also { it.writeText("mine") }
                val pressed = Pressed("$line $file", mapOf(Pressing.DIRECTED to setOf(20)))
                withClue("$pressed") { pressed.status shouldBe 130 }
                file.readText() shouldBe "mine"
                "${pressed.err}" shouldContain "interrupted, and nothing was changed"
                "${pressed.out}" shouldNotContain "H-1"
            }
        }

        test("should write a part of the fabric to a new file behind Ctrl-C, and say that it is a part") {
            val file = folder.resolve("new")
            val pressed = Pressed("ibnetdiscover $file", mapOf(Pressing.DIRECTED to setOf(20)))
            pressed.status shouldBe 130
            file.exists() shouldBe true
            "${pressed.err}" shouldContain "interrupted; this is what was found so far"
        }
    })
