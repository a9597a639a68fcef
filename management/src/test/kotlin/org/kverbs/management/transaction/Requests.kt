package org.kverbs.management.transaction

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.transport.MAD_SIZE
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

/** A SubnGet of NodeInfo by a directed route. */
internal fun nodeInfoRequest(path: DirectedPath): ByteArray {
    val mad = ByteArray(MAD_SIZE)
    SMPFormatDirected.at(mad).apply {
        madHeader.apply {
            baseVersion = 1
            mgmtClass = ManagementClass.SUBN_DIRECTED_ROUTE
            classVersion = 1
            method = Method.GET
            attributeID = 0x11
            hopCount = path.length
        }
        path.hops.forEachIndexed { hop, port -> initialPath[hop] = port }
    }
    return mad
}

/** The path of a coroutine's own. */
internal fun pathOf(index: Int) = DirectedPath(listOf(0, 1 + index / 200, 1 + index % 200))

/** Asks the node at the end of [path] for its NodeInfo. */
internal suspend fun MadTransactor.guidAt(
    path: DirectedPath,
    timeout: Duration = 100.milliseconds,
    retries: Int = 3,
) = NodeInfo.at(transact(nodeInfoRequest(path), path, timeout, retries), DATA).nodeGUID
