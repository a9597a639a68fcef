package org.kverbs.cli.devinfo

/** The lines of ibv_devinfo(1): a key with its colon, and tabs up to the column of the values. */
internal class InfoText {
    private val text = StringBuilder()

    /**
     * Adds `key: value`.
     *
     * @param indent how many tabs stand before the key
     * @param column where the value begins at the earliest, with tabs of 8 columns
     */
    fun field(
        key: String,
        value: Any,
        indent: Int = 1,
        column: Int = 40,
    ) {
        val keyEnd = indent * TAB + key.length + 1
        val tabs = maxOf(1, (column - keyEnd + TAB - 1) / TAB)
        line("$key:${"\t".repeat(tabs)}$value", indent)
    }

    /** Adds the name of a section, whose fields or [names] follow. */
    fun section(
        key: String,
        indent: Int = 1,
    ) = line("$key:", indent)

    /** Adds a sentence where a field has nothing to tell. */
    fun line(
        sentence: String,
        indent: Int = 1,
    ) {
        text.append("\t".repeat(indent)).append(sentence).append('\n')
    }

    /** Adds one line for each name whose bit is in [mask], and one for the bits that none of them has. */
    fun names(
        mask: Long,
        known: List<Pair<Long, String>>,
    ) {
        known.filter { (bit, _) -> mask and bit != 0L }.forEach { (_, name) -> line(name, NAMES_INDENT) }
        val unknown = known.fold(mask) { rest, (bit, _) -> rest and bit.inv() }
        if (unknown != 0L) line("Unknown flags: ${upperHex(unknown)}", NAMES_INDENT)
    }

    /** All lines, with a line end behind the last. */
    override fun toString(): String = text.toString()

    private companion object {
        const val TAB = 8
        const val NAMES_INDENT = 5
    }
}

/** 0x and at least [digits] lower-case digits. */
internal fun hex(
    value: Long,
    digits: Int = 1,
): String = "0x" + java.lang.Long.toHexString(value).padStart(digits, '0')

/** The same for 32 bits, which are taken as unsigned. */
internal fun hex(
    value: Int,
    digits: Int = 1,
): String = hex(value.toLong() and 0xffff_ffffL, digits)

/** 0x and upper-case digits. */
internal fun upperHex(value: Long): String = "0x" + java.lang.Long.toHexString(value).uppercase()
