package org.kverbs.ibtool.counters

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.MadPath
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet
import org.kverbs.structures.TakesSet

/** An attribute of performance management that has a port in its field `portSelect`. */
internal class PortAttribute<S>(
    private val type: StructureType<S>,
) where S : Structure, S : TakesGet, S : TakesSet {
    /** Asks for a port's. */
    suspend fun get(
        fabric: Fabric,
        path: MadPath,
        port: Int,
    ): Structure = fabric.get(type, path) { this["portSelect"] = port }

    /** Sets the counters to zero that the bits of [select] and [select2] name. */
    suspend fun set(
        fabric: Fabric,
        path: MadPath,
        port: Int,
        select: Long,
        select2: Long? = null,
    ) {
        val value =
            type {
                this["portSelect"] = port
                this["counterSelect"] = select
                if (select2 != null) this["counterSelect2"] = select2
            }
        fabric.set(path, value)
    }
}
