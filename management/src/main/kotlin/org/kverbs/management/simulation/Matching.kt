package org.kverbs.management.simulation

import org.kverbs.structures.Component
import org.kverbs.structures.Structure

/** Compares records with a query: the parts of both whose bits the component mask has. */
internal class Matching(
    components: List<Component>,
    mask: Long,
    private val wanted: ByteArray,
) {
    private val compared = components.filter { mask ushr it.bit and 1L != 0L }

    /** Whether a part that must match has this name, or is within it. */
    fun has(name: String): Boolean = compared.any { it.name == name || it.name.startsWith("$name.") }

    /** Whether the record has what is wanted in all parts but [except]. */
    fun matches(
        record: Structure,
        except: Set<String> = emptySet(),
    ): Boolean {
        val bytes = record.bytes()
        return compared.all { it.name in except || isEqual(bytes, it) }
    }

    private fun isEqual(
        bytes: ByteArray,
        part: Component,
    ): Boolean {
        var bit = part.offset
        val end = part.offset + part.width
        while (bit < end) {
            val isByte = bit % 8 == 0 && bit + 8 <= end
            val mask = if (isByte) 0xff else 0x80 shr bit % 8
            if (Wire.u8(bytes, bit / 8) and mask != Wire.u8(wanted, bit / 8) and mask) return false
            bit += if (isByte) 8 else 1
        }
        return true
    }
}
