package org.kverbs.dsl

/** Key of local memory, for scatter and gather entries (`lkey`). Costs nothing: it is an `Int` at run time. */
@JvmInline
public value class Lkey(
    public val value: Int,
) {
    /** Hexadecimal: `0x00001234`. */
    override fun toString(): String = "0x%08x".format(value)
}
