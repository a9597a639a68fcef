package org.kverbs.ibtool.query

import org.kverbs.ibtool.records.RecordKind
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.smp.SmpOperation
import org.kverbs.management.structures.described
import org.kverbs.structures.Attribute
import org.kverbs.structures.RequestMethod
import org.kverbs.structures.StructureDescription

private val ASKED = setOf(RequestMethod.GET, RequestMethod.GET_TABLE)
private const val MOST_SHOWN = 8
private const val ADMINISTRATION = 0x03

/** The attributes that a question can be about, by their names. */
internal object AttributeNames {
    /** All that the methods Get and GetTable ask for, in the order of their descriptions. */
    val all: List<StructureDescription> =
        described.structures.filter { of -> of.isPublished && of.attributes.any { it.isAsked() } }

    private val aliases: Map<String, String> =
        mapOf(
            "NodeDesc" to "NodeDescription",
            "SL2VLTable" to "SLtoVLMappingTable",
            "VLArbitration" to "VLArbitrationTable",
            "SL2VLTableRecord" to "SLtoVLMappingTableRecord",
            "LFTRecord" to "LinearForwardingTableRecord",
            "MFTRecord" to "MulticastForwardingTableRecord",
            "LFT" to "LinearForwardingTable",
            "MFT" to "MulticastForwardingTable",
        ).mapKeys { it.key.lowercase() }

    /** The short names of smpquery and saquery. */
    private val short: Map<String, String> =
        SmpOperation.entries.associate { it.alias.lowercase() to it.title.lowercase() } +
            RecordKind.entries.associate { it.alias.lowercase() to it.title.lowercase() }

    private val byName = all.associateBy { it.name.lowercase() }

    private fun Attribute.isAsked() = methods.any { it in ASKED }

    /** Whether it is a record of the subnet administrator, and nothing that a node answers. */
    fun isRecord(structure: StructureDescription): Boolean =
        structure.attributes.all { it.classes == listOf(ADMINISTRATION) } && structure.components.isNotEmpty()

    /**
     * Finds an attribute by its name, or by its name in infiniband-diags, in any case: `NodeInfo`, `NI`, `NR`.
     *
     * @throws IllegalArgumentException if there is none; the message has names that are alike
     */
    fun find(name: String): StructureDescription {
        val key = name.lowercase()
        val long = short[key] ?: key
        byName[aliases[long] ?: long]?.let { return it }
        val like = all.map { it.name }.filter { it.contains(name, ignoreCase = true) }.ifEmpty { nearest(name) }
        val hint = if (like.isEmpty()) "--list shows all" else "is it ${like.take(MOST_SHOWN).joinToString(" or ")}?"
        throw IllegalArgumentException("no attribute is called ${printable(name)}; $hint")
    }

    /** Names that begin with most of the same letters. */
    private fun nearest(name: String): List<String> {
        val alike = all.map { it.name }.groupBy { it.commonPrefixWith(name, ignoreCase = true).length }
        val most = alike.keys.max()
        return if (most > 2) alike.getValue(most) else emptyList()
    }
}
