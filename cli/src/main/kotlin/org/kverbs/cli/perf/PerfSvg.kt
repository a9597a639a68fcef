package org.kverbs.cli.perf

import java.util.Locale

/**
 * Draws a chart of bars as SVG.
 *
 * @property title the words over the chart
 * @property unit of the values, at their axis
 * @property across the words under the labels
 * @property bars a label and a value for each bar
 */
public class PerfSvg(
    private val title: String,
    private val unit: String,
    private val across: String,
    private val bars: List<Pair<String, Double>>,
) {
    /** The document. */
    override fun toString(): String {
        val most = bars.maxOf { it.second }.takeIf { it > 0 } ?: 1.0
        val step = (WIDTH - LEFT - MARGIN) / bars.size
        val text = StringBuilder()
        text.append("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ${WIDTH.toInt()} ${HEIGHT.toInt()}\" ")
        text.append("font-family=\"sans-serif\" font-size=\"12\">\n")
        text.append("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n")
        text.append(label(WIDTH / 2, TOP / 2, "middle", title, " font-size=\"16\""))
        for (i in 0..LINES) {
            val y = BOTTOM - (BOTTOM - TOP) * i / LINES
            text.append("<line x1=\"$LEFT\" x2=\"${WIDTH - MARGIN}\" y1=\"$y\" y2=\"$y\" stroke=\"#ddd\"/>\n")
            text.append(label(LEFT - GAP, y + GAP / 2, "end", figure(most * i / LINES)))
        }
        bars.forEachIndexed { i, (name, value) ->
            val x = LEFT + step * i
            val height = (BOTTOM - TOP) * value / most
            text.append("<rect x=\"${x + step * GUTTER / 2}\" y=\"${BOTTOM - height}\" ")
            text.append("width=\"${step * (1 - GUTTER)}\" height=\"$height\" fill=\"#3366aa\">")
            text.append("<title>${escaped("$name: ${figure(value)} $unit")}</title></rect>\n")
            val middle = x + step / 2
            text.append(label(middle, BOTTOM + GAP, "end", name, " transform=\"rotate(-60 $middle ${BOTTOM + GAP})\""))
        }
        text.append(label(WIDTH / 2, HEIGHT - GAP, "middle", across))
        text.append(label(LEFT - GAP, TOP - GAP, "end", unit))
        return text.append("</svg>\n").toString()
    }

    private fun label(
        x: Double,
        y: Double,
        anchor: String,
        text: String,
        more: String = "",
    ) = "<text x=\"$x\" y=\"$y\" text-anchor=\"$anchor\"$more>${escaped(text)}</text>\n"

    private fun figure(value: Double) =
        if (value >= WHOLE) "%.0f".format(Locale.ROOT, value) else "%.2f".format(Locale.ROOT, value)

    private fun escaped(text: String) = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    private companion object {
        const val WIDTH = 960.0
        const val HEIGHT = 480.0
        const val LEFT = 100.0
        const val TOP = 50.0
        const val BOTTOM = 380.0
        const val MARGIN = 20.0
        const val GAP = 12.0
        const val GUTTER = 0.2
        const val LINES = 5
        const val WHOLE = 100
    }
}
