package org.kverbs.samples

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith

/** The command line where there is no device: the tests' JVM loads no libibverbs, see [withoutDevices]. */
class KverbsSpec :
    FunSpec({
        test("should list the commands in the help, the launcher's lab included") {
            val answer = run("--help")
            answer.status shouldBe 0
            answer.err.shouldBeEmpty()
            val commands =
                answer.out
                    .substringAfter("Commands:")
                    .lines()
                    .map { it.trim().substringBefore(' ') }
            listOf("devices", "devinfo").forEach { commands shouldContain it }
            answer.out shouldContain "./kverbs lab"
        }

        test("should know -h as well, for itself and for a command") {
            run("-h") shouldBe run("--help")
            run("devinfo", "-h").out shouldContain "--ib-dev"
        }

        test("should tell its version") {
            val answer = run("--version")
            answer.status shouldBe 0
            answer.out shouldMatch Regex("kverbs .+\n")
        }

        test("should show the help as an error if there is no command") {
            val answer = run()
            answer.status shouldBe 2
            answer.out.shouldBeEmpty()
            answer.err shouldContain "Commands:"
        }

        test("should name a command that does not exist, and exit with 2") {
            val answer = run("pingpog")
            answer.status shouldBe 2
            answer.out.shouldBeEmpty()
            answer.err shouldContain "pingpog"
        }

        for (wrong in listOf(listOf("--nope"), listOf("devices", "--nope"), listOf("devinfo", "--nope"))) {
            test("should name an option that does not exist, and exit with 2: ${wrong.joinToString(" ")}") {
                val answer = run(*wrong.toTypedArray())
                answer.status shouldBe 2
                answer.out.shouldBeEmpty()
                answer.err shouldContain "no such option --nope"
            }
        }

        for (port in listOf("0", "-1", "one")) {
            test("should refuse $port as a port, and exit with 2") {
                val answer = run("devinfo", "--ib-port", port)
                answer.status shouldBe 2
                answer.err shouldContain port
                answer.err shouldContain "--ib-port"
            }
        }

        test("should name an argument too many, and exit with 2") {
            val answer = run("devices", "rxe0")
            answer.status shouldBe 2
            answer.err shouldContain "rxe0"
        }

        for (command in listOf("devices", "devinfo", "devinfo -v -d rxe0", "devinfo --list")) {
            test("should say in one sentence that there is no device, offer the lab, and exit with 1: $command") {
                val answer = run(*command.split(' ').toTypedArray())
                withClue(answer) {
                    answer.status shouldBe 1
                    answer.out.shouldBeEmpty()
                    answer.err.lines().filter { it.isNotEmpty() } shouldHaveSize 1
                    answer.err shouldStartWith "kverbs: this machine has no RDMA device"
                    answer.err shouldContain "./kverbs lab './kverbs $command'"
                }
            }
        }

        test("should show where an error comes from only if asked") {
            run("devices").err shouldNotContain "\tat "
            run("--debug", "devices").err shouldContain "\tat org.kverbs."
        }
    })

private data class Answer(
    val status: Int,
    val out: String,
    val err: String,
)

private fun run(vararg args: String): Answer {
    val out = StringBuilder()
    val err = StringBuilder()
    val status = kverbs(args.asList(), out, err)
    return Answer(status, out.toString(), err.toString())
}
