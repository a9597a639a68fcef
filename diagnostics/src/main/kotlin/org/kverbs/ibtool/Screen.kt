package org.kverbs.ibtool

import com.github.ajalt.mordant.rendering.AnsiLevel
import com.github.ajalt.mordant.terminal.PrintRequest
import com.github.ajalt.mordant.terminal.Terminal
import com.github.ajalt.mordant.terminal.TerminalInfo
import com.github.ajalt.mordant.terminal.TerminalInterface

/** Columns to which help is wrapped. */
private const val WIDTH = 100

/** Returns a terminal that writes plain text to [out] and [err]. */
internal fun screen(
    out: Appendable,
    err: Appendable,
): Terminal = Terminal(AnsiLevel.NONE, width = WIDTH, interactive = false, terminalInterface = PlainText(out, err))

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
        if (request.stderr) (out as? java.io.Flushable)?.flush()
        target.append(if (request.trailingLinebreak) request.text + "\n" else request.text)
    }

    override fun readLineOrNull(hideInput: Boolean): String? = null
}
