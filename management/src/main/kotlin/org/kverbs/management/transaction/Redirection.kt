package org.kverbs.management.transaction

import org.kverbs.attributes.GlobalRoute
import org.kverbs.management.MadLayout
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.MADStatusFlag
import kotlin.time.Duration

private const val GENERAL_SERVICES = 0x80010000.toInt()

/**
 * Sends a request as [MadTransactor.transact] does. A port that says where the request must go instead is obeyed once:
 * a second redirection is an error, and so is one that leads to no port.
 */
internal suspend fun MadTransactor.transactRedirected(
    request: ByteArray,
    path: MadPath,
    timeout: Duration,
    retries: Int,
): ByteArray =
    try {
        transact(request, path, timeout, retries)
    } catch (e: MadStatusException) {
        transact(request, redirected(e) ?: throw e, timeout, retries)
    }

private fun redirected(error: MadStatusException): LidPath? {
    val reply = error.reply?.takeIf { error.status and MADStatusFlag.REDIRECT.value != 0 } ?: return null
    val path = error.path as? LidPath ?: return null
    val at = MadLayout.dataAt(MadFields.mgmtClass(reply), MadFields.attribute(reply)) ?: return null
    if (reply.size < at + ClassPortInfo.byteSize) return null
    val info = ClassPortInfo.at(reply, at)
    if (!info.redirectLID.isUnicast || info.redirectQP == 0) return null
    // A path has the key of general services alone.
    if (info.redirectQKey.toInt() !in setOf(0, GENERAL_SERVICES)) return null
    return path.copy(
        destination = info.redirectLID,
        globalRoute = path.globalRoute?.let { route(info, it) },
        serviceLevel = info.redirectSL,
        partitionKey = info.redirectPKey.takeIf { it != 0 } ?: path.partitionKey,
        destinationQueuePair = info.redirectQP,
    )
}

/** Without a GID the other port is in this subnet. */
private fun route(
    info: ClassPortInfo,
    before: GlobalRoute,
): GlobalRoute? {
    if (info.redirectGID.isZero) return null
    return GlobalRoute(info.redirectGID, info.redirectFL, before.sgidIndex(), before.hopLimit(), info.redirectTC)
}
