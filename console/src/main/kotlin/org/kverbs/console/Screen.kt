package org.kverbs.console

import com.github.ajalt.mordant.rendering.AnsiLevel
import com.github.ajalt.mordant.terminal.PrintRequest
import com.github.ajalt.mordant.terminal.Terminal
import com.github.ajalt.mordant.terminal.TerminalInfo
import com.github.ajalt.mordant.terminal.TerminalInterface
import java.io.Flushable

/**
 * Returns the terminal, if [out] is this process's output and goes to one, and else a stand-in that writes plain text.
 * Java tells which of the two it is at no cost; only the real terminal is asked for its width, by native calls.
 *
 * @param out receives what the terminal prints
 * @param err receives what it prints as an error
 */
public fun screen(
    out: Appendable,
    err: Appendable,
): Terminal =
    if (out === System.out && System.console()?.isTerminal == true) {
        Terminal()
    } else {
        Terminal(AnsiLevel.NONE, width = PLAIN_WIDTH, interactive = false, terminalInterface = PlainText(out, err))
    }

/** Columns to which help is wrapped in a file or a pipe. */
private const val PLAIN_WIDTH = 100

/** A terminal in name only, for files, pipes and tests. */
private class PlainText(
    private val out: Appendable,
    private val err: Appendable,
) : TerminalInterface {
    override fun info(
        ansiLevel: AnsiLevel?,
        hyperlinks: Boolean?,
        outputInteractive: Boolean?,
        inputInteractive: Boolean?,
    ) = TerminalInfo(
        ansiLevel = AnsiLevel.NONE,
        ansiHyperLinks = false,
        outputInteractive = false,
        inputInteractive = false,
        supportsAnsiCursor = false,
    )

    override fun completePrintRequest(request: PrintRequest) {
        val target = if (request.stderr) err else out
        // What was printed before an error stands before it.
        if (request.stderr) (out as? Flushable)?.flush()
        target.append(if (request.trailingLinebreak) request.text + "\n" else request.text)
    }

    override fun readLineOrNull(hideInput: Boolean): String? = null
}
