package org.kverbs.management.subnet

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.NodeInfo
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet
import org.kverbs.structures.copy

/**
 * The answers of the nodes themselves, by LID. No node tells the LIDs of its neighbours: the records of the subnet
 * administrator do.
 */
internal class LidAnswers(
    private val fabric: Fabric,
    private val links: RecordedLinks,
) : Answers {
    override val atOnce: Int get() = minOf(fabric.maxOutstanding, MOST_AT_ONCE)

    override suspend fun first(): NodeInfo = fabric.get(path(links.first().lid))

    /** By LID a switch is reached at any of its ports, so the record says at which one the link ends. */
    override suspend fun behind(port: FoundPort): NodeInfo {
        val far = links.behind(port)
        return fabric.get<NodeInfo>(path(far.lid)).copy { localPortNum = far.port }
    }

    override suspend fun <S> get(
        type: StructureType<S>,
        port: FoundPort,
        modifier: Int,
    ): S where S : Structure, S : TakesGet = fabric.get(type, path(links.lid(port)), modifier)

    private fun path(lid: Lid): LidPath {
        if (!lid.isUnicast) throw NoRecordException("unicast LID")
        return LidPath(lid)
    }
}
