package org.kverbs.management.subnet

import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.SwitchInfoRecord
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet
import org.kverbs.structures.copy

/** The answers that the records of the subnet administrator give. Records are not trusted more than nodes. */
internal class RecordAnswers(
    val links: RecordedLinks,
    ports: List<PortInfoRecord>,
    switches: List<SwitchInfoRecord>,
) : Answers {
    private val portInfos = ports.associate { LidAndPort(it.endportLID, it.portNum) to it.portInfo }
    private val switchInfos = switches.associate { it.lid.value to it.switchInfo }

    override val atOnce: Int = 1

    override suspend fun first(): NodeInfo = links.first().nodeInfo

    override suspend fun behind(port: FoundPort): NodeInfo {
        val far = links.behind(port)
        val record = links.node(far.lid) ?: throw NoRecordException("NodeRecord of LID ${far.lid}")
        return record.nodeInfo.copy { localPortNum = far.port }
    }

    @Suppress("UNCHECKED_CAST") // Each branch answers with the structure that was asked for.
    override suspend fun <S> get(
        type: StructureType<S>,
        port: FoundPort,
        modifier: Int,
    ): S? where S : Structure, S : TakesGet {
        val lid = links.lid(port)
        val answer: Structure? =
            when (type) {
                NodeDescription -> links.node(lid)?.nodeDescription
                SwitchInfo -> switchInfos[lid.value]
                PortInfo -> portInfos[LidAndPort(lid, modifier)]
                else -> return null
            }
        return answer as S? ?: throw NoRecordException("record of $type")
    }

    companion object {
        /** Asks for all records of four kinds, at once. */
        suspend fun fetch(fabric: Fabric): RecordAnswers =
            coroutineScope {
                val links = async { RecordedLinks.fetch(fabric) }
                val ports = async { fabric.sa.records<PortInfoRecord>() }
                val switches = async { fabric.sa.records<SwitchInfoRecord>() }
                RecordAnswers(links.await(), ports.await(), switches.await())
            }
    }
}
