package org.kverbs.management

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.attributes.Gid
import org.kverbs.management.structures.structureTypes
import org.kverbs.structures.Coded
import org.kverbs.structures.Elements
import org.kverbs.structures.Field
import org.kverbs.structures.FieldKind
import org.kverbs.structures.Guid
import org.kverbs.structures.IntElements
import org.kverbs.structures.Lid
import org.kverbs.structures.LongElements
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureElements
import org.kverbs.structures.StructureType
import org.kverbs.structures.copy
import org.kverbs.structures.dotted
import org.kverbs.structures.dump
import org.kverbs.structures.fromJson
import org.kverbs.structures.structureTypeOf
import org.kverbs.structures.toJson
import java.lang.reflect.Method
import kotlin.random.Random

/** Random bytes, of which text fields are printable: text that is no UTF-8 does not survive a String. */
internal fun randomBytes(
    type: StructureType<*>,
    random: Random,
): ByteArray =
    random.nextBytes(type.byteSize).also { bytes ->
        fun text(
            fields: List<Field>,
            base: Int,
        ) {
            for (field in fields) {
                repeat(field.count) { index ->
                    val at = base + (field.offset + index * field.width) / 8
                    val nested = field.structure
                    if (nested != null) {
                        text(nested.fields, at)
                    } else if (field.kind == FieldKind.STRING) {
                        val length = random.nextInt(field.width / 8 + 1)
                        for (i in 0 until field.width / 8) {
                            bytes[at + i] =
                                if (i < length) random.nextInt(0x21, 0x7f).toByte() else 0
                        }
                    }
                }
            }
        }
        text(type.fields, 0)
    }

/** The getter or setter of a property, whose name has a hash where its type is a value class. */
private fun accessor(
    structure: Structure,
    prefix: String,
    field: Field,
): Method {
    // A property isX has the getter isX and the setter setX.
    val isFlag = Regex("is[A-Z].*").matches(field.name)
    val name =
        when {
            isFlag && prefix == "get" -> field.name
            isFlag -> prefix + field.name.drop(2)
            else -> prefix + field.name.replaceFirstChar { it.uppercase() }
        }
    return structure.javaClass.methods.single { it.name == name || it.name.startsWith("$name-") }
}

/** Writes every value that the generated properties of [from] read to those of [to]; reserved bits by their names. */
private fun copyByProperties(
    from: Structure,
    to: Structure,
) {
    for (field in from.description.fields) {
        if (field.isReserved) {
            to[field.name] = from[field.name]
            continue
        }
        val getter = accessor(from, "get", field)
        val value = getter.invoke(from)
        if (field.isArray) {
            copyElements(value, getter.invoke(to))
        } else if (value is Structure) {
            copyByProperties(value, getter.invoke(to) as Structure)
        } else {
            accessor(to, "set", field).invoke(to, value)
        }
    }
}

@Suppress("UNCHECKED_CAST")
private fun copyElements(
    from: Any,
    to: Any,
) {
    when (from) {
        is IntElements -> {
            (to as IntElements).assign(from.toList())
        }

        is LongElements -> {
            (to as LongElements).assign(from.toList())
        }

        is Elements<*> -> {
            (to as Elements<Any>).assign(from.toList())
        }

        is StructureElements<*> -> {
            from.toList().forEachIndexed {
                i,
                it,
                ->
                copyByProperties(it, (to as StructureElements<*>)[i])
            }
        }

        else -> {
            error("unexpected $from")
        }
    }
}

/** Whether a generated property and the description read the same. */
private fun same(
    property: Any,
    described: Any,
): Boolean =
    when (property) {
        is Boolean -> {
            described == if (property) 1L else 0L
        }

        is Int -> {
            described.toString() == property.toString() ||
                number(described) == (property.toLong() and 0xffffffffL)
        }

        is ByteArray -> {
            property.contentEquals(described as ByteArray)
        }

        is IntElements -> {
            property.toList().map { it.toLong() } == described
        }

        is LongElements -> {
            property.toList() == described
        }

        is Elements<*> -> {
            property.toList().zip(described as List<*>).all { (a, b) -> same(checkNotNull(a), checkNotNull(b)) }
        }

        is StructureElements<*> -> {
            property
                .toList()
                .zip(
                    described as List<*>,
                ).all { (a, b) -> a.bytes().contentEquals((b as Structure).bytes()) }
        }

        is Structure -> {
            property.bytes().contentEquals((described as Structure).bytes())
        }

        is Coded -> {
            property.toString() == described.toString()
        }

        else -> {
            property.toString() == described.toString() || number(described) == property
        }
    }

private fun number(described: Any): Any? =
    when (described) {
        is org.kverbs.structures.NamedNumber -> described.number
        is Lid -> described.value.toLong()
        is Guid -> described.value
        is Gid -> described
        else -> described
    }

class RoundTripSpec :
    FunSpec({
        for (type in structureTypes) {
            test("should make of the fields of ${type.name} the bytes that they were read from") {
                repeat(20) { seed ->
                    val original = type.of(randomBytes(type, Random(seed)))
                    val copy = type.at(ByteArray(type.byteSize))
                    copyByProperties(original, copy)
                    copy.bytes().toHexString() shouldBe original.bytes().toHexString()
                    original.copy() shouldBe original
                    type.fromJson(original.toJson().toString()) shouldBe original
                    original.dump() shouldStartWith type.name
                    original.dotted()
                }
            }
        }

        test("should read by each generated property what the description says") {
            for (type in structureTypes) {
                val structure = type.of(randomBytes(type, Random(99)))
                for (field in type.fields.filter { !it.isReserved }) {
                    val value = accessor(structure, "get", field).invoke(structure)
                    val described = structure[field.name]
                    check(same(value, described)) { "${type.name}.${field.name}: $value, but $described" }
                }
            }
        }

        test("should find the type of each class") {
            for (type in structureTypes) structureTypeOf(type.at(ByteArray(type.byteSize)).javaClass) shouldBe type
        }
    })
