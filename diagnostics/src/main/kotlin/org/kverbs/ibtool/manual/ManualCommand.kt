package org.kverbs.ibtool.manual

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.PrintHelpMessage
import com.github.ajalt.clikt.core.parse
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import org.kverbs.ibtool.session.OutputFile
import org.kverbs.ibtool.session.offerVersion
import java.nio.file.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.writeText

/**
 * `man`: the manual pages of all commands, from the same source as `--help`.
 *
 * @param program makes the program anew, of which each page parses a command line
 */
internal class ManualCommand(
    private val program: () -> CoreCliktCommand,
) : CoreCliktCommand("man") {
    private val folder by argument("folder", help = "Where the pages are written").convert { Path.of(it) }

    init {
        offerVersion()
    }

    override fun help(context: Context) = "Write a manual page of each command into a folder."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool man pages; man -l pages/ibtool-iblinkinfo.8
          ibtool man ~/.local/share/man/man8
        """.trimIndent()

    override fun run() {
        folder.createDirectories()
        val version = javaClass.getPackage().implementationVersion ?: ""
        val commands = program().registeredSubcommands().map { it.commandName }
        for (command in listOf(null) + commands) {
            val name = listOfNotNull("ibtool", command).joinToString("-")
            val file = OutputFile.checked("man", folder.resolve("$name.8"))
            file.writeText(page(listOfNotNull(command), version))
        }
        echo("${commands.size + 1} pages are in $folder")
    }

    private fun page(
        command: List<String>,
        version: String,
    ): String {
        val program = program()
        program.configureContext { helpFormatter = { ManualPage(version) } }
        return try {
            program.parse(command + "--help")
            error("--help of $command prints no help")
        } catch (e: PrintHelpMessage) {
            checkNotNull(program.getFormattedHelp(e)) { "$command has no help" }
        }
    }
}
