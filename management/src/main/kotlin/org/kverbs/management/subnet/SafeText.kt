package org.kverbs.management.subnet

/** Text of nodes, which anybody can set, as a terminal and a log can take it. */
internal object SafeText {
    /** What reorders or hides the text around it, or breaks the line. */
    private val unsafe =
        setOf(
            CharCategory.CONTROL,
            CharCategory.FORMAT,
            CharCategory.LINE_SEPARATOR,
            CharCategory.PARAGRAPH_SEPARATOR,
            CharCategory.SURROGATE,
            CharCategory.PRIVATE_USE,
            CharCategory.UNASSIGNED,
        )

    fun of(text: String): String =
        if (text.none { it.category in unsafe }) {
            text
        } else {
            text.map { if (it.category in unsafe) '?' else it }.joinToString("")
        }
}
