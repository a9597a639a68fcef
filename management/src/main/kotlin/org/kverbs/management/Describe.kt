package org.kverbs.management

import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.described
import org.kverbs.structures.Descriptions
import org.kverbs.structures.StructureDescription
import java.lang.foreign.MemorySegment

private const val PREFIX = "MAD_METHOD_"

/**
 * Returns what a management datagram asks or answers, in one line: `MAD_METHOD_GET(1) SAFormat(3.2) SAPathRecord(53)`.
 * Methods, classes and attributes without a name print as `??` with their numbers.
 *
 * @param mad the datagram, from its header on
 * @param known the structures whose names are used; a program adds its vendor structures with [Descriptions.plus]
 * @throws IllegalArgumentException if [mad] is shorter than a header
 */
public fun describe(
    mad: MemorySegment,
    known: Descriptions = described,
): String {
    val header = MADHeader.at(mad)
    val format = formatOf(known, header.mgmtClass.value)
    val version = "(${header.mgmtClass.value}.${header.classVersion})"
    val method = Method.description.entry(header.method.code)?.name ?: "??"
    val attribute = attributeName(known, format, header.mgmtClass.value, header.attributeID)
    return "$PREFIX$method(${header.method.value}) ${format?.name ?: "??"}$version $attribute(${header.attributeID})"
}

/** The layout of the class: the one with the fewest classes, as ranges of vendors hold classes with names. */
private fun formatOf(
    known: Descriptions,
    mgmtClass: Int,
): StructureDescription? =
    known.structures
        .filter { "Format" in it.name && it.classes.any { range -> mgmtClass in range } }
        .minByOrNull { structure -> structure.classes.sumOf { it.count() } }

private fun attributeName(
    known: Descriptions,
    format: StructureDescription?,
    mgmtClass: Int,
    id: Int,
): String {
    val prefix = format?.name?.substringBefore("Format").orEmpty()
    val name =
        known.structures
            .firstOrNull { structure ->
                structure.attributes.any { it.id == id && mgmtClass in it.classes }
            }?.name ?: return "$prefix??"
    return if (name.startsWith(prefix)) name else prefix + name
}
