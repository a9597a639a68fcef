package org.kverbs.console

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.MultiUsageError
import com.github.ajalt.clikt.core.PrintHelpMessage
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.core.installMordant
import com.github.ajalt.clikt.core.parse
import com.github.ajalt.clikt.core.subcommands
import com.github.ajalt.clikt.core.terminal
import com.github.ajalt.clikt.parameters.options.versionOption
import com.github.ajalt.mordant.rendering.Whitespace
import com.github.ajalt.mordant.terminal.Terminal

/**
 * Makes this command a program of several commands: its help lists them in groups, `--version` prints the version of
 * its jar, and what a command prints stays as it is.
 *
 * @param groups the names of the commands under the titles of the help, in its order
 * @param only the one command that will be needed, if it is known: it alone is made then, since a program with many
 *   commands and options starts slowly
 * @param make makes the command with a name
 */
public fun CoreCliktCommand.offer(
    groups: Map<String, List<String>>,
    only: String? = null,
    make: (String) -> CoreCliktCommand,
) {
    installMordant()
    val names = groups.values.flatten()
    // The completion of a shell knows all commands.
    val isAlone = only in names && only != COMPLETION
    subcommands((if (isAlone) listOfNotNull(only) else names).map(make))
    configureContext {
        // As it is: Mordant turns tabs into blanks.
        echoMessage = { context, message, newline, isError ->
            context.terminal.rawPrint(if (newline) "$message\n" else "$message", isError)
        }
        helpFormatter = { CommandHelp(it, groups) }
    }
    val version = javaClass.getPackage().implementationVersion
    versionOption(version ?: "(run from class files, not from its jar)") { "$commandName $it" }
}

/**
 * Runs one command line of a program that [offer] made. An error of the command line is printed with the usage of the
 * command that it is of; other exceptions of the commands are thrown.
 *
 * @param args the words behind the program's name; without any it lists its commands
 * @param screen what the commands print on
 * @return the exit status: 0 if all went well, 2 if the command line is wrong, and what the command says otherwise
 */
public fun CoreCliktCommand.answer(
    args: List<String>,
    screen: Terminal,
): Int {
    configureContext { terminal = screen }
    return try {
        parse(args.ifEmpty { listOf("--help") })
        0
    } catch (e: CliktError) {
        // Several errors at once are those of one command.
        if (e is MultiUsageError && e.context == null) e.context = e.errors.firstNotNullOfOrNull { it.context }
        echoFormattedHelp(e)
        if (e is UsageError || (e is PrintHelpMessage && e.error)) WRONG_COMMAND_LINE else e.statusCode
    }
}

/** Prints an error: on a terminal wrapped between words, otherwise in the lines that it has, for programs. */
public fun Terminal.complain(text: String): Unit =
    println(text, if (terminalInfo.outputInteractive) Whitespace.PRE_WRAP else Whitespace.PRE, stderr = true)

private const val WRONG_COMMAND_LINE = 2
