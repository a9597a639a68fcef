package org.kverbs.cli

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.parse
import com.github.ajalt.clikt.parameters.options.Option
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.shouldBe
import java.io.File

private val page = File(System.getProperty("kverbs.root"), "docs/commands.md").readText()

/** The page up to its commands of Maven and of the tests, which have other options. */
private val ours = page.substringBefore("\n## Tests and measurements")

/** The words in code font. */
private val spans = Regex("`([^`]+)`").findAll(ours.replace("\\|", "|")).map { it.groupValues[1] }.toList()

private val HELP = listOf("-h", "--help")

/** `kverbs` with its commands, each of which knows its context, as after any command line. */
private val kverbs =
    KverbsCommand().apply {
        try {
            parse(listOf("help"))
        } catch (_: CliktError) {
            // it is the help
        }
    }

private val commands = kverbs.registeredSubcommands().associateBy { it.commandName }

private fun options(of: CoreCliktCommand) = of.registeredOptions().filter { !it.hidden && it.names != HELP.toSet() }

/** The rows of the page's table for one command. */
private fun rows(
    title: String,
    of: CoreCliktCommand,
) = options(of).map { option -> "| $title | ${names(option, of)} | ${option.optionHelp(of.currentContext)} |" }

private fun names(
    option: Option,
    of: CoreCliktCommand,
): String {
    val value = option.metavar(of.currentContext)?.takeIf { option.nvalues.last > 0 }
    val names = option.names.joinToString { "`$it`" }
    return names + value?.let { " `${it.replace("|", "\\|")}`" }.orEmpty()
}

/** docs/commands.md names what there is, and nothing else. */
internal class CommandsPageSpec :
    FunSpec({
        test("should name every command, and no other") {
            val named = spans.mapNotNull { Regex("\\./kverbs ([a-z]+).*").matchEntire(it)?.groupValues?.get(1) }
            named.distinct() shouldContainExactlyInAnyOrder commands.keys
        }

        test("should have every option in its table with the help that the command shows, and no other") {
            val table = ours.substringAfter("\n## Options\n").substringBefore("\n## ").lines()
            val wanted = rows("before the command", kverbs) + commands.flatMap { (name, it) -> rows("`$name`", it) }
            table.filter { it.startsWith("|") }.drop(2).joinToString("\n") shouldBe wanted.joinToString("\n")
        }

        test("should show command lines with options of their commands alone") {
            val lines = spans.filter { it.startsWith("./kverbs ") }
            lines.shouldNotBeEmpty()
            lines
                .filter { line ->
                    val command = commands[line.split(' ')[1]]
                    val known = HELP + (listOfNotNull(command) + kverbs).flatMap { options(it) }.flatMap { it.names }
                    val words = line.substringBefore(" '").split(' ', '[', ']')
                    words.any { it.startsWith("-") && it !in known }
                }.shouldBeEmpty()
        }

        test("should speak of no option that no command has") {
            val known = HELP + (commands.values + kverbs).flatMap { options(it) }.flatMap { it.names }
            spans.filter { it.startsWith("-") && it.substringBefore(' ') !in known }.shouldBeEmpty()
        }
    })
