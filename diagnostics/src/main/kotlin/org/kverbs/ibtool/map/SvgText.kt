package org.kverbs.ibtool.map

/** What all pictures have in common. */
internal object SvgText {
    /** Begins a white picture of this size, in pixels. */
    fun open(
        svg: StringBuilder,
        width: Int,
        height: Int,
    ) {
        svg.append("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"$width\" height=\"$height\" ")
        svg.append("viewBox=\"0 0 $width $height\" font-family=\"sans-serif\" font-size=\"11\">\n")
        svg.append("<rect width=\"$width\" height=\"$height\" fill=\"white\"/>\n")
    }

    /** Writes a text, which is escaped already, at a place. */
    fun text(
        svg: StringBuilder,
        x: Int,
        y: Int,
        text: String,
        anchor: String = "start",
    ) {
        svg.append("<text x=\"$x\" y=\"$y\" text-anchor=\"$anchor\">$text</text>")
    }

    /** A text that can stand anywhere in XML. */
    fun escaped(text: String): String =
        text
            .replace("&", "&amp;")
            .replace("<", "&lt;")
            .replace(">", "&gt;")
            .replace("\"", "&quot;")
}
