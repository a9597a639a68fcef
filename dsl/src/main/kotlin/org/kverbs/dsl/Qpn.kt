package org.kverbs.dsl

/**
 * Number of a queue pair, 24 bits (`qp_num`). Costs nothing: it is an `Int` at run time.
 *
 * @property value 0 to 0xffffff, in host order
 */
@JvmInline
public value class Qpn(
    public val value: Int,
) {
    init {
        require(value in 0..0xffffff) { "qpn $value doesn't fit into 24 bits" }
    }

    /** Hexadecimal: `0x001234`. */
    override fun toString(): String = "0x%06x".format(value)
}
