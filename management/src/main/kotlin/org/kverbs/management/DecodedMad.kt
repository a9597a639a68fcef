package org.kverbs.management

import org.kverbs.management.structures.described
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.Descriptions
import org.kverbs.structures.Structure
import org.kverbs.structures.dump
import java.lang.foreign.MemorySegment

/**
 * A management datagram, taken apart: the header of its class, and the attribute.
 *
 * ```
 * println(decode(mad).dump())
 * ```
 *
 * @property description what the datagram asks or answers, as [describe] says it
 * @property header the header of the class, or the header that all classes share if nothing more is known
 * @property attribute the attribute; null if it has no known layout, or does not fit behind the header
 */
public class DecodedMad internal constructor(
    public val description: String,
    public val header: Structure,
    public val attribute: Structure?,
) {
    /** Returns [description], and the header and the attribute with a line for each 32-bit word. */
    public fun dump(): String = lines().joinToString("\n", postfix = "\n")

    internal fun lines(): List<String> =
        (listOf(description) + header.dump().lines() + attribute?.dump().orEmpty().lines()).filter { it.isNotBlank() }

    /** Returns the description. */
    override fun toString(): String = description
}

/**
 * Takes a management datagram apart. It is copied. Of a long message, this is its first datagram.
 *
 * @param mad the datagram, from its header on; what it has less than 256 bytes is zero
 * @param known the structures that are looked for; a program adds its vendor structures with [Descriptions.plus]
 * @throws IllegalArgumentException if [mad] is shorter than a header
 */
public fun decode(
    mad: ByteArray,
    known: Descriptions = described,
): DecodedMad {
    val description = describe(MemorySegment.ofArray(mad), known)
    val datagram = mad.copyOf(MAD_SIZE)
    val mgmtClass = datagram[CLASS_AT].toInt() and 0xff
    val id =
        (datagram[ATTRIBUTE_AT].toInt() and 0xff shl Byte.SIZE_BITS) or (datagram[ATTRIBUTE_AT + 1].toInt() and 0xff)
    val attribute =
        known.structures.firstOrNull { structure ->
            structure.isPublished && structure.attributes.any { it.id == id && mgmtClass in it.classes }
        }
    val at = MadLayout.dataAt(mgmtClass, id)
    val fits = attribute != null && at != null && at + attribute.byteSize <= MAD_SIZE
    return DecodedMad(
        description,
        described.type(MadLayout.format(mgmtClass)?.name ?: "MADHeader").at(datagram),
        if (fits) known.type(checkNotNull(attribute).name).at(datagram, checkNotNull(at)) else null,
    )
}

private const val CLASS_AT = 1
private const val ATTRIBUTE_AT = 16
