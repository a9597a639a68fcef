package org.kverbs.structures

/**
 * A structure that a program declares at run time. Its fields are read and written by their names.
 *
 * ```
 * val type = Descriptions.parse(text).type("FanStatus")
 * val status = type { this["speed"] = 4200 }
 * ```
 */
public class DynamicStructure internal constructor(
    override val structureType: RecordType<DynamicStructure>,
    view: View,
) : Structure(view) {
    internal class Type(
        private val declared: StructureDescription,
    ) : RecordType<DynamicStructure>(
            declared.name,
            declared.byteSize,
            { Descriptions(listOf(declared), emptyList(), emptyList(), emptyList()) },
            { error("part makes the views") },
        ) {
        override fun part(view: View): DynamicStructure = DynamicStructure(this, view)
    }
}
