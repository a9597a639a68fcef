package org.kverbs.structures

private const val DEEPEST = 16
private val scalars =
    mapOf("uint" to FieldKind.UINT, "lid" to FieldKind.LID, "guid" to FieldKind.GUID, "gid" to FieldKind.GID) +
        mapOf("bytes" to FieldKind.BYTES, "string" to FieldKind.STRING)
private val fixedWidths = mapOf(FieldKind.LID to 16, FieldKind.GUID to 64, FieldKind.GID to 128)

/** Names that a property can't have beside the members of [Structure]. */
private val taken =
    mapOf("memory" to "storage", "description" to "about", "structureType" to "kind", "class" to "classOf")

/** Looks up the names of a description, places the fields, and refuses what does not fit. */
internal class Resolver(
    private val raw: Raw,
) {
    private val rawStructures = mutableMapOf<String, RawStructure>()
    private val rawLists = mutableMapOf<String, RawList>()
    private val structures = mutableMapOf<String, StructureDescription>()
    private val enumerations = mutableMapOf<String, EnumerationDescription>()
    private val open = mutableListOf<String>()

    fun resolve(): Descriptions {
        for (structure in raw.structures) declare(rawStructures, structure.name, structure, structure.place)
        for (list in raw.lists) declare(rawLists, list.name, list, list.place)
        val named = raw.lists.filter { it.word in setOf("enumeration", "mask", "flags") }.map { enumeration(it) }
        val all = raw.structures.map { structure(it) }
        val choices = raw.lists.filter { it.word == "choice" }.map { choice(it) }
        val constants =
            raw.lists.filter { it.word == "constants" }.map { list ->
                unique(list) { it.name }
                ConstantsDescription(list.name, list.entries.associate { it.name to it.value }, list.documentation)
            }
        return Descriptions(all, named, choices, constants)
    }

    private fun <T> declare(
        names: MutableMap<String, T>,
        name: String,
        declared: T,
        place: Place,
    ) {
        if (name in rawStructures || name in rawLists) place.fail("$name is declared twice; rename one of the two")
        if (name in scalars ||
            name == "reserved"
        ) {
            place.fail("$name is a kind of field; give the declaration another name")
        }
        names[name] = declared
    }

    private fun <K> unique(
        list: RawList,
        key: (RawEntry) -> K,
    ) {
        val seen = mutableSetOf<K>()
        for (entry in list.entries) {
            if (!seen.add(key(entry))) {
                entry.place.fail("${list.name} has ${key(entry)} twice; remove one, or make ${list.name} constants")
            }
        }
    }

    private fun enumeration(list: RawList): EnumerationDescription =
        enumerations.getOrPut(list.name) {
            val form =
                when (list.word) {
                    "mask" -> EnumerationForm.MASK
                    "flags" -> EnumerationForm.FLAGS
                    else -> EnumerationForm.VALUE
                }
            unique(list) { it.name }
            unique(list) { it.value }
            val entries =
                list.entries.map { entry ->
                    if (form == EnumerationForm.MASK && entry.value.countOneBits() != 1) {
                        entry.place.fail(
                            "${entry.name} of the mask ${list.name} has not exactly one bit; write 1, 2, 4 ...",
                        )
                    }
                    val value = if (form == EnumerationForm.FLAGS) 1L shl entry.value.toInt() else entry.value
                    EnumerationEntry(entry.name, value, entry.label)
                }
            EnumerationDescription(list.name, form, entries, special(list), list.documentation)
        }

    private fun special(list: RawList): EnumerationDescription? {
        val name = list.special ?: return null
        val found = rawLists[name]
        if (found == null ||
            found.word != "enumeration"
        ) {
            list.place.fail("no enumeration $name is declared for special values")
        }
        if (list.word == "enumeration") list.place.fail("special values belong to a mask or to flags; remove them")
        return enumeration(found)
    }

    private fun choice(list: RawList): ChoiceDescription {
        unique(list) { it.value }
        return ChoiceDescription(
            list.name,
            list.entries.associate { entry ->
                val found = rawStructures[entry.name] ?: entry.place.fail("no structure ${entry.name} is declared")
                entry.value to structure(found)
            },
            list.documentation,
        )
    }

    private fun structure(raw: RawStructure): StructureDescription {
        structures[raw.name]?.let { return it }
        if (raw.name in open) {
            raw.place.fail("${raw.name} contains itself by ${open.joinToString(" > ")}; remove one of these fields")
        }
        if (open.size ==
            DEEPEST
        ) {
            raw.place.fail("structures are nested deeper than $DEEPEST: ${open.joinToString(" > ")}")
        }
        open += raw.name
        val fields = mutableListOf<Field>()
        val names = mutableSetOf<String>()
        for (line in raw.fields) {
            val at = fields.lastOrNull()?.let { it.offset + it.bits } ?: 0
            val field = field(line, at)
            taken[field.name]?.let { line.place.fail("${raw.name} can't have a field ${field.name}; name it $it") }
            if (!names.add(field.name)) line.place.fail("${raw.name} has two fields ${field.name}; rename one")
            if (field.offset < at) {
                line.place.fail(
                    "field ${field.name} begins at bit ${field.offset}, but ${fields.last().name} ends before " +
                        "bit $at; write @$at, or leave the offset out",
                )
            }
            if (field.offset > at) {
                line.place.fail(
                    "field ${field.name} begins at bit ${field.offset}, but " +
                        "${fields.lastOrNull()?.name ?: raw.name} leaves off at bit $at; " +
                        "put reserved:${field.offset - at} before it",
                )
            }
            if (field.offset + field.bits >
                MOST_BITS
            ) {
                line.place.fail("${raw.name} is longer than $MOST_BITS bits; shorten it")
            }
            fields += field
        }
        open.removeLast()
        return checked(raw, fields).also { structures[raw.name] = it }
    }

    private fun checked(
        raw: RawStructure,
        fields: List<Field>,
    ): StructureDescription {
        val bits = fields.lastOrNull()?.let { it.offset + it.bits } ?: 0
        if (raw.bits != null && raw.bits != bits && raw.isPublished) {
            raw.place.fail("${raw.name} says ${raw.bits} bits, but its fields have $bits; correct one of the two")
        }
        if (bits % 8 !=
            0
        ) {
            raw.place.fail("${raw.name} has $bits bits, no whole bytes; put reserved:${8 - bits % 8} at its end")
        }
        for ((field, line) in fields.zip(raw.fields)) {
            componentProblem(field)?.let { line.place.fail(it) }
        }
        return StructureDescription(
            raw.name,
            bits,
            fields,
            raw.classes,
            raw.classVersion,
            raw.attributes,
            raw.isPublished,
            raw.documentation,
        )
    }

    private fun field(
        line: RawField,
        next: Int,
    ): Field {
        val offset = line.offset ?: next
        val nested = rawStructures[line.type]?.let { structure(it) }
        val named =
            rawLists[line.type]
                ?.takeIf {
                    it.word in
                        setOf(
                            "enumeration",
                            "mask",
                            "flags",
                        )
                }?.let { enumeration(it) }
        val isReserved = line.type == "reserved"
        val kind =
            when {
                nested != null -> {
                    FieldKind.STRUCTURE
                }

                isReserved -> {
                    if ((line.width ?: 0) > Long.SIZE_BITS) FieldKind.BYTES else FieldKind.UINT
                }

                named != null -> {
                    FieldKind.UINT
                }

                else -> {
                    scalars[line.type] ?: line.place.fail(
                        "${line.type.take(
                            80,
                        )} is no kind of field; write uint:8, lid, guid, gid, bytes:64, string:512, " +
                            "reserved:8, or the name of a structure or an enumeration that is declared",
                    )
                }
            }
        val width = width(line, kind, nested)
        if (kind != FieldKind.UINT && !(isReserved) && (offset % 8 != 0 || width % 8 != 0)) {
            line.place.fail(
                "field ${line.name} is at bit $offset with $width bits; only numbers need not fill whole bytes",
            )
        }
        return Field(
            line.name,
            kind,
            offset,
            width,
            line.count,
            isReserved,
            named,
            nested,
            line.options.label,
            line.options.format,
            line.options.unit,
            line.options.mask,
            line.options.isUnmasked,
            line.documentation,
        )
    }

    private fun width(
        line: RawField,
        kind: FieldKind,
        nested: StructureDescription?,
    ): Int {
        val fixed = nested?.bits ?: fixedWidths[kind]
        if (fixed != null) {
            if (line.width != null &&
                line.width != fixed
            ) {
                line.place.fail("${line.type} has $fixed bits; leave the width out")
            }
            if (fixed == 0) line.place.fail("${line.type} has no bits; a field can't be of it")
            return fixed
        }
        val width = line.width ?: line.place.fail("say how many bits ${line.name} has: ${line.type}:8")
        if (kind == FieldKind.UINT && width > Long.SIZE_BITS) {
            line.place.fail("a number has at most 64 bits, not $width; write bytes:$width")
        }
        if (rawLists[line.type] != null &&
            width > Int.SIZE_BITS
        ) {
            line.place.fail("an enumeration has at most 32 bits, not $width")
        }
        return width
    }
}
