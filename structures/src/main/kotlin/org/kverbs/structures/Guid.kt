package org.kverbs.structures

import java.util.HexFormat

/**
 * A 64-bit globally unique identifier (EUI-64) of a node, a port or a system image.
 *
 * @property value the 64 bits as a number in host order
 */
@JvmInline
public value class Guid(
    public val value: Long,
) {
    /** Returns four groups of four hexadecimal digits, such as `0002:c903:0000:1491`. */
    override fun toString(): String = HexFormat.of().toHexDigits(value).chunked(4).joinToString(":")

    /** Reads GUIDs from text. */
    public companion object {
        private val groups = Regex("\\p{XDigit}{1,4}(:\\p{XDigit}{1,4}){3}")
        private val digits = Regex("(0x)?(\\p{XDigit}{1,16})")

        /**
         * Reads four groups of hexadecimal digits (`2:c903:0:1491`), or up to 16 digits with or without `0x`.
         *
         * @throws IllegalArgumentException if [text] is neither
         */
        public fun parse(text: String): Guid {
            if (groups.matches(text)) {
                return Guid(
                    text.split(':').fold(0L) { bits, group ->
                        bits shl 16 or
                            group.toLong(16)
                    },
                )
            }
            val bare = digits.matchEntire(text)?.groupValues?.get(2)
            require(
                bare != null,
            ) { "\"${text.take(80)}\" is not a GUID: give four groups such as 0002:c903:0000:1491, or 16 digits" }
            return Guid(bare.toULong(16).toLong())
        }
    }
}
