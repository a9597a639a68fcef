package org.kverbs.ibtool.smp

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.NodeDescription
import org.kverbs.structures.Descriptions
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet

/** An attribute of subnet management by its number, of which nothing is known but that it has 64 bytes. */
internal object RawAttribute {
    suspend fun get(
        fabric: Fabric,
        path: MadPath,
        number: Int,
        modifier: Int,
    ): ByteArray {
        val text =
            """
            structure Raw 512 of 0x01,0x81 version 1 {
                attribute 0x${number.toString(16).padStart(4, '0')} methods Get modifier "0"
                @0    bytes:512    data
            }
            """.trimIndent()
        val type = Descriptions.parse(text).type("Raw")

        @Suppress("UNCHECKED_CAST") // Its description has the method Get, and nothing reads it by its type.
        return fabric.raw(type as StructureType<NodeDescription>, path, modifier).bytes()
    }

    private suspend fun <S> Fabric.raw(
        type: StructureType<S>,
        path: MadPath,
        modifier: Int,
    ): Structure where S : Structure, S : TakesGet = get(type, path, modifier)
}
