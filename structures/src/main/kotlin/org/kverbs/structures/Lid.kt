package org.kverbs.structures

/**
 * A local identifier, the 16-bit address of a port in its subnet: 1 to 0xbfff for one port, 0xc000 to 0xfffe for a
 * multicast group. 0 and 0xffff (permissive) address neither.
 *
 * @property value the number, 0 to 0xffff
 */
@JvmInline
public value class Lid(
    public val value: Int,
) {
    /** Whether the identifier addresses one port. */
    public val isUnicast: Boolean get() = value in 1..0xbfff

    /** Whether the identifier addresses a multicast group. */
    public val isMulticast: Boolean get() = value in 0xc000..0xfffe

    /**
     * Returns the LIDs of the port that has this one, if the switches ignore the low [lmc] bits: 2^lmc of them.
     *
     * @param lmc the port's LID mask control, 0 to 7
     * @throws IllegalArgumentException if it is out of range
     */
    public fun range(lmc: Int): IntRange {
        require(lmc in 0..7) { "the LID mask control is 0 to 7, not $lmc" }
        val low = (1 shl lmc) - 1
        return (value and low.inv())..(value or low)
    }

    /** Returns the decimal number. */
    override fun toString(): String = value.toString()

    /** Reads LIDs from text. */
    public companion object {
        /**
         * Reads a decimal number, or a hexadecimal one behind `0x`.
         *
         * @throws IllegalArgumentException if [text] is no number from 0 to 0xffff
         */
        public fun parse(text: String): Lid {
            val number = if (text.startsWith("0x")) text.drop(2).toIntOrNull(16) else text.toIntOrNull()
            require(
                number != null && number in 0..0xffff,
            ) { "\"${text.take(80)}\" is not a LID: give a number from 0 to 0xffff" }
            return Lid(number)
        }
    }
}
