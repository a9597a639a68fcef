package org.kverbs.dsl

/**
 * Packet sequence number, 24 bits (`psn`). Costs nothing: it is an `Int` at run time.
 *
 * @property value 0 to 0xffffff, in host order
 */
@JvmInline
public value class Psn(
    public val value: Int,
) {
    init {
        require(value in 0..0xffffff) { "psn $value doesn't fit into 24 bits" }
    }

    /** Hexadecimal: `0x001234`. */
    override fun toString(): String = "0x%06x".format(value)
}
