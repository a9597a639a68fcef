package org.kverbs.cli

import com.github.ajalt.clikt.completion.CompletionCandidates
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.NoSuchSubcommand
import com.github.ajalt.clikt.core.PrintHelpMessage
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.optional

/** `kverbs help`: the same as `--help`, where people look for it first. */
internal class HelpCommand(
    commands: List<String>,
) : CoreCliktCommand("help") {
    private val topic by argument(
        "COMMAND",
        help = "The command to explain (the list of all, if left out)",
        completionCandidates = CompletionCandidates.Fixed(commands.toSet()),
    ).optional()

    override fun help(context: Context) = "Explain a command, or list them all."

    override fun run() {
        val kverbs = checkNotNull(currentContext.parent) { "help is a command of kverbs" }
        val name = topic ?: throw PrintHelpMessage(kverbs)
        val commands = kverbs.command.registeredSubcommands().associateBy { it.commandName }
        val command =
            commands[name]
                ?: throw NoSuchSubcommand(name, kverbs.suggestTypoCorrection(name, commands.keys.toList()))
                    .also { it.context = kverbs }
        throw PrintHelpMessage(command.currentContext)
    }
}
