package org.kverbs.acceptance.docs

import java.io.File

/**
 * A place in a source that makes an exception with a message.
 *
 * @property by the exception's class, or the function of the standard library that throws one
 * @property text the parts of the message as the source has them, one after the other
 */
internal class MessageSite(
    val file: File,
    val line: Int,
    val by: String,
    val text: String,
) {
    /** True if the message is more than the values of others: it has three words of its own. */
    val hasWords: Boolean get() =
        text.replace(Regex("\\$\\{[^}]*}|\\$\\w+"), "").split(' ').count { word -> word.any(Char::isLetter) } >= 3

    override fun toString(): String = "${file.name}:$line: $text"
}

/** Returns the places of a Kotlin or Java source that make an exception with a text. */
internal fun messageSites(file: File): List<MessageSite> {
    val source = file.readText().replace(COMMENT) { it.value.replace(Regex("[^\n]"), " ") }
    val sites = ArrayList<MessageSite>()
    var from = 0
    while (true) {
        val call = CALL.find(source, from) ?: break
        val texts = StringBuilder()
        val end = block(source, call.range.last, texts)
        val by = call.groupValues[1]
        // The message of require and check is in the block behind them.
        val behind = source.substring(end).takeWhile(Char::isWhitespace).length + end
        from =
            if (by[0].isLowerCase() && source.getOrNull(behind) == '{') {
                texts.clear()
                block(source, behind, texts)
            } else {
                end
            }
        val line = source.take(call.range.first).count { it == '\n' } + 1
        if (texts.isNotEmpty()) sites.add(MessageSite(file, line, by, "$texts"))
    }
    return sites
}

private val COMMENT = Regex("/\\*.*?\\*/|(?<!:)//[^\n]*", RegexOption.DOT_MATCHES_ALL)
private val CALL = Regex("\\b(\\w+(?:Exception|Error)|require|requireNotNull|check|checkNotNull|error)\\(")

/** Returns the index behind the bracket that closes the one at [open]; adds the strings between them to [texts]. */
private fun block(
    source: String,
    open: Int,
    texts: StringBuilder,
): Int {
    var depth = 0
    var at = open
    while (at < source.length) {
        when (source[at]) {
            '(', '{', '[' -> depth++
            ')', '}', ']' -> if (--depth == 0) return at + 1
            '\'' -> at += if (source[at + 1] == '\\') 3 else 2
            '"' -> at = string(source, at, texts) - 1
        }
        at++
    }
    return at
}

/** Returns the index behind the string that begins at [quote], and adds its text, with its templates, to [texts]. */
private fun string(
    source: String,
    quote: Int,
    texts: StringBuilder,
): Int {
    var at = quote + 1
    while (source[at] != '"') {
        val end =
            when {
                source[at] == '\\' -> at + 2
                source.startsWith("\${", at) -> block(source, at + 1, StringBuilder())
                else -> at + 1
            }
        texts.append(source, at, end)
        at = end
    }
    return at + 1
}
