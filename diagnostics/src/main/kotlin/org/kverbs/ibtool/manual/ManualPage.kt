package org.kverbs.ibtool.manual

import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.output.HelpFormatter
import com.github.ajalt.clikt.output.HelpFormatter.ParameterHelp

/** Writes the help of a command as a manual page, in the language of `man` (groff_man(7)). */
internal class ManualPage(
    private val version: String,
) : HelpFormatter {
    override fun formatHelp(
        error: UsageError?,
        prolog: String,
        epilog: String,
        parameters: List<ParameterHelp>,
        programName: String,
    ): String =
        buildString {
            val name = programName.replace(' ', '-')
            val paragraphs = prolog.trim().split(Regex("\\n\\s*\\n")).map { it.trim().replace(Regex("\\s+"), " ") }
            val source = plain("kverbs $version".trim())
            append(".TH \"${plain(name.uppercase())}\" 8 \"\" \"$source\" \"InfiniBand diagnostics\"\n")
            append(".SH NAME\n${text(name)} \\- ${text(paragraphs.first())}\n")
            append(".SH SYNOPSIS\n.B ${text(programName)}\n${text(synopsis(parameters))}\n")
            append(".SH DESCRIPTION\n")
            append(paragraphs.joinToString("\n.PP\n", transform = ::text)).append('\n')
            section("COMMANDS", parameters.filterIsInstance<ParameterHelp.Subcommand>().map { it.name to it.help })
            section("ARGUMENTS", parameters.filterIsInstance<ParameterHelp.Argument>().map { it.name to it.help })
            section("OPTIONS", parameters.filterIsInstance<ParameterHelp.Option>().map { head(it) to it.help })
            examples(epilog)
            append(".SH SEE ALSO\n")
            append(if (name == "ibtool") "ibsim(8), opensm(8)" else ".BR ibtool (8)").append('\n')
        }

    private fun synopsis(parameters: List<ParameterHelp>): String {
        val words = listOf("[OPTIONS]") + parameters.filterIsInstance<ParameterHelp.Argument>().map(::argument)
        val hasCommands = parameters.any { it is ParameterHelp.Subcommand }
        return words.joinToString(" ") + if (hasCommands) " COMMAND [ARGS]..." else ""
    }

    private fun argument(argument: ParameterHelp.Argument): String {
        val name = argument.name.uppercase() + if (argument.repeatable) "..." else ""
        return if (argument.required) name else "[$name]"
    }

    private fun head(option: ParameterHelp.Option): String {
        val (short, long) = option.names.partition { !it.startsWith("--") }
        val names = (short + long + option.secondaryNames).joinToString(", ")
        return option.metavar?.let { "$names=${it.uppercase()}" } ?: names
    }

    private fun StringBuilder.section(
        title: String,
        entries: List<Pair<String, String>>,
    ) {
        if (entries.isEmpty()) return
        append(".SH $title\n")
        for ((head, help) in entries) append(".TP\n.B ${text(head)}\n${text(help.replace(Regex("\\s+"), " "))}\n")
    }

    private fun StringBuilder.examples(epilog: String) {
        val lines = epilog.trim().lines()
        if (lines.size < 2) return
        append(".SH EXAMPLES\n.nf\n")
        lines.drop(1).forEach { append(text(it.trim())).append('\n') }
        append(".fi\n")
    }

    /** Text in which no character has a meaning for groff; a line that begins with one would be a request. */
    private fun text(text: String): String {
        val line = plain(text).replace("-", "\\-")
        return if (line.startsWith('.') || line.startsWith('\'')) "\\&$line" else line
    }

    private fun plain(text: String): String = text.replace("\\", "\\e").replace("\"", "\\(dq")
}
