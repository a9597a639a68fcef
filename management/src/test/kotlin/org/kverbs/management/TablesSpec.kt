package org.kverbs.management

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import org.kverbs.management.structures.described
import org.kverbs.management.structures.structureTypes
import org.kverbs.structures.EnumerationForm
import org.kverbs.structures.Field
import org.kverbs.structures.RequestMethod

private val rows = table("iba-structures.tsv").groupBy { it.getValue("struct") }

private fun kind(field: Field) = field.structure?.name ?: field.kind.name.lowercase()

private fun range(bits: IntRange?) =
    when {
        bits == null -> "-"
        bits.first == bits.last -> "${bits.first}"
        else -> "${bits.first}-${bits.last}"
    }

private fun number(text: String) = if (text.startsWith("0x")) text.drop(2).toLong(16) else text.toLong()

/** Compares the structures with the tables that their facts were gathered in. */
class TablesSpec :
    FunSpec({
        test("should have the 168 structures of the tables, and those of attributes without data") {
            val empty = described.structures.filter { it.isPublished && it.fields.isEmpty() }.map { it.name }
            empty shouldContainExactlyInAnyOrder listOf("PrepareToTest", "TestDeviceOnce", "TestDeviceLoop")
            (structureTypes.map { it.name } - empty.toSet()) shouldContainExactlyInAnyOrder rows.keys
            rows.keys shouldHaveSize 168
        }

        for ((name, fields) in rows) {
            test("should have the fields of $name where the tables have them") {
                val structure = described.structure(name)
                structure.bits shouldBe fields.first().getValue("struct_bits").toInt()
                structure.fields.map {
                    listOf(
                        it.name,
                        it.offset,
                        it.width,
                        it.count,
                        kind(it),
                        it.isReserved,
                        it.label ?: "-",
                        range(it.maskBits),
                    )
                } shouldContainExactly
                    fields.map { row ->
                        val numbers = listOf("offset_bits", "width_bits", "count").map { row.getValue(it).toInt() }
                        listOf<Any>(row.getValue("field")) + numbers +
                            listOf<Any>(row.getValue("kind"), row["reserved"] == "yes") +
                            listOf<Any>(row.getValue("libibmad_name"), row.getValue("sa_mask_bit"))
                    }
            }
        }

        test("should have each attribute row with its number, classes, version, methods and modifier") {
            val described =
                described.structures.flatMap { structure ->
                    structure.attributes.map { attribute ->
                        listOf(
                            structure.name,
                            attribute.classes.joinToString(",") { "0x%02x".format(it) },
                            "${attribute.classVersion}",
                            "0x%04x".format(attribute.id),
                            attribute.methods.map { it.text }.sorted(),
                            attribute.modifier ?: "-",
                        )
                    }
                }
            val expected =
                table("iba-attributes.tsv").map { row ->
                    val methods = row.getValue("methods").split(',').sorted()
                    val keys = listOf("struct", "mgmt_class", "class_version", "attribute_id")
                    keys.map { row.getValue(it) } + listOf(methods, row.getValue("attribute_modifier"))
                }
            described shouldContainExactlyInAnyOrder expected
            expected shouldHaveSize 139
        }

        test("should know of three attributes no more than their numbers") {
            described.structures.filter { !it.isPublished }.map { it.name } shouldContainExactlyInAnyOrder
                table("iba-attributes.tsv").filter { it["layout"] == "unpublished" }.map { it.getValue("struct") }
        }

        test("should have each component of each record with its mask bit") {
            val components = table("iba-sa-components.tsv").filter { it["bit"] != "-" }
            val wrong =
                components.filter { row ->
                    val name = row.getValue("component")
                    val bits =
                        described
                            .structure(row.getValue("record"))
                            .components
                            .filter { it.name.substringBefore('[') == name.substringBefore('[') }
                    val expected = row.getValue("bit").split('-').map { it.toInt() }
                    bits.isEmpty() || (expected.first()..expected.last()).any { bit -> bits.none { it.bit == bit } }
                }
            wrong.map { "${it["record"]}.${it["component"]} bit ${it["bit"]}" }.shouldBeEmpty()
            for ((record, ofRecord) in components.groupBy { it.getValue("record") }) {
                val bits = described.structure(record).components.map { it.bit }
                withClue("$record has a bit twice") { bits.distinct() shouldBe bits }
                val last = ofRecord.maxOf { it.getValue("bit").substringAfter('-').toInt() }
                withClue("$record leaves no bit out") { bits.sorted() shouldBe (0..last).toList() }
            }
        }

        test("should give no bit to components that have none") {
            val wrong =
                table("iba-sa-components.tsv").filter { it["bit"] == "-" }.filter { row ->
                    described.structure(row.getValue("record")).components.any { it.name == row["component"] }
                }
            wrong.shouldBeEmpty()
        }

        test("should have each value of each enumeration") {
            val all = table("iba-enums.tsv").groupBy { it.getValue("enum") }
            all.keys shouldHaveSize 71
            for ((name, entries) in all) {
                withClue(name) {
                    when (entries.first().getValue("form")) {
                        "struct" -> {
                            described.choices.single { it.name == name }.cases.map { (number, it) ->
                                number to it.name
                            } shouldBe
                                entries.map { number(it.getValue("value")) to it.getValue("symbol") }
                        }

                        else -> {
                            val constants = described.constants.singleOrNull { it.name == name }
                            val found =
                                constants?.values?.map { (symbol, value) -> listOf(symbol, value, "-") }
                                    ?: described.enumeration(name).let { enumeration ->
                                        enumeration.entries.map { entry ->
                                            val isFlag = enumeration.form == EnumerationForm.FLAGS
                                            val bit = entry.value.countTrailingZeroBits().toLong()
                                            val value = if (isFlag) bit else entry.value
                                            listOf(entry.name, value, entry.label ?: "-")
                                        }
                                    }
                            found shouldContainExactly
                                entries.map { listOf(it["symbol"], number(it.getValue("value")), it.getValue("label")) }
                        }
                    }
                }
            }
        }

        test("should let each class say by its interfaces which methods its attribute takes") {
            for (type in structureTypes) {
                val marks =
                    type
                        .at(ByteArray(type.byteSize))
                        .javaClass.interfaces
                        .map { it.simpleName }
                        .filter { it.startsWith("Takes") }
                marks shouldContainExactlyInAnyOrder type.methods.map { "Takes${it.text}" }
            }
            RequestMethod.entries.map { it.text } shouldContainExactlyInAnyOrder
                table("iba-attributes.tsv").flatMap { it.getValue("methods").split(',') }.distinct()
        }
    })
