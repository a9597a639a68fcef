package org.kverbs.management.subnet

import org.kverbs.management.path.directed
import org.kverbs.management.sa.RecordedAttributes
import org.kverbs.management.structures.NodeInfo
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet

/** The answers of the subnet administrator's records, of which each question asks for one. */
internal class OneRecordAnswers(
    private val records: RecordedAttributes,
) : Answers {
    override val atOnce: Int get() = minOf(records.sa.maxOutstanding, MOST_AT_ONCE)

    override suspend fun first(): NodeInfo = records.get(directed(0))

    override suspend fun behind(port: FoundPort): NodeInfo = records.get(port.node.path() + port.number)

    override suspend fun <S> get(
        type: StructureType<S>,
        port: FoundPort,
        modifier: Int,
    ): S? where S : Structure, S : TakesGet = if (records.has(type)) records.get(type, port.path(), modifier) else null
}
