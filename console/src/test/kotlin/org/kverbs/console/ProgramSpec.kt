package org.kverbs.console

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.CoreNoOpCliktCommand
import com.github.ajalt.clikt.parameters.options.help
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.options.required
import com.github.ajalt.clikt.parameters.types.int
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainInOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith

private class Program : CoreNoOpCliktCommand("fruits")

private class Pick : CoreCliktCommand("pick") {
    val count by option("--count").int().required().help("how many")

    override fun help(context: Context) = "Picks fruits."

    override fun helpEpilog(context: Context) = "Examples:\n  fruits pick --count 3     three of them"

    override fun run() {
        if (count > 9) throw CliktError("the basket holds 9, not $count", statusCode = 3)
        echo("picked\t$count")
    }
}

private class Eat : CoreNoOpCliktCommand("eat") {
    override fun help(context: Context) = "Eats one."
}

private class Said(
    vararg words: String,
) {
    val out = StringBuilder()
    val err = StringBuilder()
    val made = ArrayList<String>()
    val status =
        Program()
            .apply {
                offer(mapOf("In the garden" to listOf("pick"), "At home" to listOf("eat")), words.firstOrNull()) {
                    made += it
                    if (it == "pick") Pick() else Eat()
                }
            }.answer(words.asList(), screen(out, err))
}

/** Tests what the command lines share, with a program of two commands. */
class ProgramSpec :
    FunSpec({
        test("should list the commands under their titles, in their order, when it is called without a word") {
            val said = Said()
            said.status shouldBe 0
            said.out.lines().map { it.trim() } shouldContainInOrder
                listOf("In the garden:", "pick   Picks fruits.", "At home:", "eat    Eats one.")
            said.err.toString().shouldBeEmpty()
        }

        test("should make the command alone that is called, and all for a word that is none") {
            Said("pick", "--count", "3").made shouldBe listOf("pick")
            Said("pluck").made shouldBe listOf("pick", "eat")
            "${Said("pikc").err}" shouldContain "pick"
        }

        test("should leave what a command prints as it is, tabs too") {
            val said = Said("pick", "--count", "3")
            "${said.out}" shouldBe "picked\t3\n"
            said.status shouldBe 0
        }

        test("should leave the lines of the examples as they are") {
            "${Said("pick", "--help").out}" shouldContain "Examples:\n  fruits pick --count 3     three of them\n"
        }

        test("should name the value of an option in capitals behind an equals sign") {
            "${Said("pick", "--help").out}" shouldContain "--count=INT"
        }

        test("should print a wrong command line's error, then the usage of its command and where more help is") {
            val said = Said("pick", "--count", "many")
            said.status shouldBe 2
            "${said.err}" shouldStartWith "Error: invalid value for --count: many is not a valid integer"
            said.err.lines() shouldContainInOrder listOf("Usage: fruits pick [OPTIONS]", "Try fruits pick --help")
            "${said.out}".shouldBeEmpty()
        }

        test("should print the usage of the command for several errors at once, too") {
            val said = Said("pick", "--colour", "red", "--size", "3")
            "${said.err}" shouldContain "no such option --size"
            said.err.lines() shouldContainInOrder listOf("Usage: fruits pick [OPTIONS]", "Try fruits pick --help")
        }

        test("should end with the status of a command that failed") {
            val said = Said("pick", "--count", "10")
            said.status shouldBe 3
            "${said.err}" shouldContain "the basket holds 9, not 10"
        }

        test("should say where its version comes from when it runs from class files") {
            "${Said("--version").out}" shouldBe "fruits (run from class files, not from its jar)\n"
        }

        test("should print an error on a pipe in the lines that it has, without colours") {
            val out = StringBuilder()
            val err = StringBuilder()
            val words = List(60) { "word" }.joinToString(" ")
            screen(out, err).complain("$words\nand more")
            "$err" shouldBe "$words\nand more\n"
            "$out".shouldBeEmpty()
        }
    })
