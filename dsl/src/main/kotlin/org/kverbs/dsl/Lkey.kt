package org.kverbs.dsl

/**
 * Key of local memory, for scatter and gather entries (`lkey`). Costs nothing: it is an `Int` at run time.
 *
 * @property value 32 bits in host order, of which any are a key: read as an `Int`, half of them are below zero
 */
@JvmInline
public value class Lkey(
    public val value: Int,
) {
    /** Hexadecimal: `0x00001234`. */
    override fun toString(): String = "0x%08x".format(value)
}
