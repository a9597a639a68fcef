package org.kverbs.management.subnet

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.sa.SubnetAdministration
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.LinearForwardingTableRecord
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.MulticastForwardingTableRecord
import org.kverbs.structures.Lid

private const val POSITION_SHIFT = 28

/** Where the forwarding tables of switches come from. A block that does not come is empty. */
internal interface TableSource {
    /** How many switches can be asked at once. */
    val atOnce: Int

    /** Hands over the blocks 0 to [lastBlock] with their numbers. */
    suspend fun linear(
        switch: SubnetNode,
        lastBlock: Int,
        keep: (block: Int, LinearForwardingTable) -> Unit,
    )

    /** Hands over the blocks below [blocks] at the positions below [positions]. */
    suspend fun multicast(
        switch: SubnetNode,
        positions: Int,
        blocks: Int,
        keep: (position: Int, block: Int, MulticastForwardingTable) -> Unit,
    )
}

/** The tables as the switches themselves tell them, block by block. */
internal class NodeTables(
    private val fabric: Fabric,
) : TableSource {
    override val atOnce: Int get() = fabric.maxOutstanding

    override suspend fun linear(
        switch: SubnetNode,
        lastBlock: Int,
        keep: (block: Int, LinearForwardingTable) -> Unit,
    ) {
        val path = switch.path
        for (block in 0..lastBlock) keep(block, fabric.get<LinearForwardingTable>(path, block))
    }

    override suspend fun multicast(
        switch: SubnetNode,
        positions: Int,
        blocks: Int,
        keep: (position: Int, block: Int, MulticastForwardingTable) -> Unit,
    ) {
        val path = switch.path
        for (position in 0 until positions) {
            for (block in 0 until blocks) {
                val modifier = position shl POSITION_SHIFT or block
                keep(position, block, fabric.get<MulticastForwardingTable>(path, modifier))
            }
        }
    }
}

/** The tables that the subnet administrator has records of. Records are not trusted more than switches. */
internal class RecordTables(
    private val sa: SubnetAdministration,
) : TableSource {
    override val atOnce: Int get() = sa.maxOutstanding

    override suspend fun linear(
        switch: SubnetNode,
        lastBlock: Int,
        keep: (block: Int, LinearForwardingTable) -> Unit,
    ) {
        val of = lid(switch)
        val all =
            sa
                .records<LinearForwardingTableRecord> {
                    lid = of
                }.filter { it.lid == of && it.blockNum <= lastBlock }
        if (all.isEmpty()) throw NoRecordException("LinearForwardingTableRecord of LID $of")
        all.forEach { keep(it.blockNum, it.linearForwardingTable) }
    }

    override suspend fun multicast(
        switch: SubnetNode,
        positions: Int,
        blocks: Int,
        keep: (position: Int, block: Int, MulticastForwardingTable) -> Unit,
    ) {
        val of = lid(switch)
        sa
            .records<MulticastForwardingTableRecord> { lid = of }
            .filter { it.lid == of && it.position < positions && it.blockNum < blocks }
            .forEach { keep(it.position, it.blockNum, it.multicastForwardingTable) }
    }

    private fun lid(switch: SubnetNode): Lid =
        switch.port(0)?.lid?.takeIf { it.isUnicast } ?: throw NoRecordException("switch's LID")
}
