package org.kverbs.cli.devices

import com.github.ajalt.mordant.rendering.TextAlign
import com.github.ajalt.mordant.rendering.TextColors.green
import com.github.ajalt.mordant.rendering.TextColors.yellow
import com.github.ajalt.mordant.rendering.TextStyles.bold
import com.github.ajalt.mordant.rendering.TextStyles.dim
import com.github.ajalt.mordant.rendering.Whitespace
import com.github.ajalt.mordant.rendering.Widget
import com.github.ajalt.mordant.table.Borders
import com.github.ajalt.mordant.table.table
import com.github.ajalt.mordant.widgets.Padding
import org.kverbs.attributes.PortState

/** The columns of a narrow terminal. */
private val important = listOf("NAME", "PROVIDER", "TRANSPORT", "PORT_1", "LINK_LAYER", "GID")
private const val SPACE = 2

/** The devices in colours: in all columns if the terminal has room for them, and else in the most important ones. */
internal fun devicesTable(
    rows: List<DeviceRow>,
    width: Int,
): Widget {
    val cells = rows.map { DeviceRow.columns.zip(it.cells()).toMap() }
    val needed =
        DeviceRow.columns.sumOf { name -> SPACE + maxOf(name.length, cells.maxOf { it.getValue(name).length }) }
    val columns = if (needed <= width) DeviceRow.columns else important
    return table {
        tableBorders = Borders.NONE
        cellBorders = Borders.NONE
        whitespace = Whitespace.PRE_WRAP
        padding = Padding { right = SPACE }
        header { row { columns.forEach { cell(bold(it)) } } }
        body { cells.forEach { device -> row { columns.forEach { cell(styled(it, device.getValue(it))) } } } }
        if (columns != DeviceRow.columns) {
            captionBottom(dim("A terminal of $needed characters shows more columns; --json shows all."), TextAlign.LEFT)
        }
    }
}

private fun styled(
    column: String,
    text: String,
): String =
    when (column) {
        "NAME" -> bold(text)
        "PORT_1" -> (if (text == PortState.ACTIVE.toString()) green else yellow)(text)
        else -> text
    }
