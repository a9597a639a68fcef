package org.kverbs.dsl

/**
 * Local identifier of a port in an InfiniBand subnet, 16 bits; 0 on Ethernet (`lid`). Costs nothing: it is an `Int` at run time.
 *
 * @property value 0 to 0xffff, in host order
 */
@JvmInline
public value class Lid(
    public val value: Int,
) {
    init {
        require(value in 0..0xffff) { "lid $value doesn't fit into 16 bits" }
    }

    /** Hexadecimal: `0x1234`. */
    override fun toString(): String = "0x%04x".format(value)
}
