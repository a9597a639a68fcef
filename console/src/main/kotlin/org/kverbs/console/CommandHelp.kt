package org.kverbs.console

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.core.terminal
import com.github.ajalt.clikt.output.HelpFormatter.ParameterHelp
import com.github.ajalt.clikt.output.MordantHelpFormatter
import com.github.ajalt.mordant.rendering.Whitespace
import com.github.ajalt.mordant.rendering.Widget
import com.github.ajalt.mordant.table.ColumnWidth
import com.github.ajalt.mordant.table.grid
import com.github.ajalt.mordant.widgets.Text

/**
 * The looks of help and of errors in the command line. The epilog of a command is its examples, whose lines stay as
 * they are.
 *
 * @param groups the names of the commands under their titles
 */
internal class CommandHelp(
    context: Context,
    private val groups: Map<String, List<String>>,
) : MordantHelpFormatter(context) {
    private val wrapping
        get() = if (context.terminal.terminalInfo.outputInteractive) Whitespace.PRE_WRAP else Whitespace.PRE

    override fun collectHelpParts(
        error: UsageError?,
        prolog: String,
        epilog: String,
        parameters: List<ParameterHelp>,
        programName: String,
    ): List<Widget> {
        val parts = super.collectHelpParts(error, prolog, epilog, parameters, programName)
        return if (error == null) parts else parts.reversed() + Text("Try $programName --help")
    }

    override fun renderError(
        parameters: List<ParameterHelp>,
        error: UsageError,
    ): Widget = Text(renderErrorString(parameters, error), wrapping)

    override fun renderEpilog(epilog: String): Widget = Text(epilog, Whitespace.PRE)

    override fun collectParameterSections(parameters: List<ParameterHelp>) =
        renderCommands(parameters) + renderArguments(parameters) + renderOptions(parameters)

    override fun renderCommands(parameters: List<ParameterHelp>): List<RenderedSection<Widget>> {
        val commands = parameters.filterIsInstance<ParameterHelp.Subcommand>().associateBy { it.name }
        if (commands.isEmpty()) return emptyList()
        val names = 2 + commands.keys.maxOf { it.length } + 2
        return groups.map { (title, group) ->
            val list =
                grid {
                    column(0) { width = ColumnWidth.Fixed(names) }
                    padding(0)
                    group.forEach {
                        row(Text("  " + styleSubcommandName(it)), renderWrappedText(commands.getValue(it).help))
                    }
                }
            RenderedSection(styleSectionTitle(renderSectionTitle(title)), list)
        }
    }

    /** Shows an option with its value as man pages do: `--size=BYTES`. */
    override fun normalizeParameter(name: String): String = name.uppercase()
}
