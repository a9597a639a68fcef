package org.kverbs.ibtool.records

import org.kverbs.structures.Structure
import java.nio.ByteBuffer

/** The lines of one record, `name....value`, of which each begins with two tabs. */
internal class Rows(
    title: String,
    private val column: Int,
) {
    private val text = StringBuilder(title).append('\n')

    /** Adds a line with a name and a value. */
    fun row(
        name: String,
        value: Any,
    ): Rows = line(name.padEnd(column, '.') + value)

    /** Adds a line as it is. */
    fun line(
        line: String,
        indent: String = "\t\t",
    ): Rows {
        text.append(indent).append(line).append('\n')
        return this
    }

    /** Returns all lines. */
    override fun toString(): String = text.toString()
}

/** The number in the [size] bytes of a structure that begin where the field [name] does. */
internal fun Structure.raw(
    name: String,
    size: Int,
): Long = raw(description.field(name).offset / Byte.SIZE_BITS, size)

/** The number in [size] bytes of a structure at [at]. */
internal fun Structure.raw(
    at: Int,
    size: Int,
): Long {
    val bytes = ByteArray(Long.SIZE_BYTES)
    bytes().copyInto(bytes, Long.SIZE_BYTES - size, at, at + size)
    return ByteBuffer.wrap(bytes).getLong()
}

/** C's `0x%X`. */
internal fun upper(value: Long): String = "0x" + java.lang.Long.toHexString(value).uppercase()

/** C's `0x%X`. */
internal fun upper(value: Int): String = "0x" + Integer.toHexString(value).uppercase()

/** C's `0x%016lx`. */
internal fun long(value: Long): String = "0x" + value.toHexString()
