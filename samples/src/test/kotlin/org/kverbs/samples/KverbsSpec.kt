package org.kverbs.samples

import io.kotest.core.spec.style.FunSpec
import io.kotest.datatest.withData
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain

/** The command line on a machine without a device, or with the devices of one. */
internal class KverbsSpec :
    FunSpec({
        class Outcome(
            vararg arguments: String,
        ) {
            private val printed = StringBuilder()
            private val complained = StringBuilder()
            val status = kverbs(arguments.asList(), printed, complained)
            val out get() = printed.toString()
            val err get() = complained.toString()
        }

        test("should list its commands in the help, and the launcher's own beside them") {
            val help = Outcome("--help")
            help.status shouldBe 0
            listOf("devices", "devinfo", "pingpong", "sample", "./kverbs lab").forEach { help.out shouldContain it }
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

        test("should fail in one sentence, without a stack trace, for a device that is not there") {
            val outcome = Outcome("devinfo", "-d", "none_such")
            outcome.status shouldBe 1
            outcome.err.trim().lines().size shouldBe 1
            outcome.err shouldNotContain "\tat "
        }
    })
