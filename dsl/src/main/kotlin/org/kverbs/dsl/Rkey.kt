package org.kverbs.dsl

/** Key of memory that lets a peer reach it (`rkey`). Costs nothing: it is an `Int` at run time. */
@JvmInline
public value class Rkey(
    public val value: Int,
) {
    /** Hexadecimal: `0x00001234`. */
    override fun toString(): String = "0x%08x".format(value)
}
