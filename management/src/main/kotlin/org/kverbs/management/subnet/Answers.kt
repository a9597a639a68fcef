package org.kverbs.management.subnet

import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.directed
import org.kverbs.management.structures.NodeInfo
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet

/** More coroutines than this find nothing to do. */
internal const val MOST_AT_ONCE = 4096

/** Where a [Discovery] has its answers from. */
internal interface Answers {
    /** How many questions can be asked at once. */
    val atOnce: Int

    /** What the node of this program's port is. */
    suspend fun first(): NodeInfo

    /** What the node behind a port is. */
    suspend fun behind(port: FoundPort): NodeInfo

    /** An attribute of a port, or of its node; null if these answers do not have such attributes. */
    suspend fun <S> get(
        type: StructureType<S>,
        port: FoundPort,
        modifier: Int,
    ): S? where S : Structure, S : TakesGet
}

/** The answers of the nodes themselves, by directed routes. */
internal class NodeAnswers(
    private val fabric: Fabric,
) : Answers {
    override val atOnce: Int get() = minOf(fabric.maxOutstanding, MOST_AT_ONCE)

    override suspend fun first(): NodeInfo = fabric.get(directed(0))

    override suspend fun behind(port: FoundPort): NodeInfo = fabric.get(port.node.path() + port.number)

    override suspend fun <S> get(
        type: StructureType<S>,
        port: FoundPort,
        modifier: Int,
    ): S where S : Structure, S : TakesGet = fabric.get(type, port.path(), modifier)
}

/** The subnet administrator has no record for a question. */
internal class NoRecordException(
    what: String,
) : RuntimeException(what, null, false, false)
