package org.kverbs.ibtool.session

import kotlinx.coroutines.Job
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.subnet.DiscoveryProgress
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.discoverByLid
import org.kverbs.management.subnet.discoverBySa
import org.kverbs.management.transaction.MadReplyException
import org.kverbs.management.transaction.MadTransferException
import java.util.concurrent.atomic.AtomicInteger

/** Discovers the fabric, and shows how far it is. Ctrl-C ends it with what was found until then. */
internal suspend fun Session.discover(kind: DiscoveryKind): Subnet {
    val nodes = AtomicInteger()

    suspend fun run(stop: Job?): Subnet =
        working({ "discovering: $nodes nodes" }) { find(kind, stop) { nodes.set(it.nodes) } }
    return try {
        surroundings.interrupt?.during(::run) ?: run(null)
    } catch (e: IllegalStateException) {
        throw DiagnosticException("the fabric cannot be discovered: ${e.message}", cause = e)
    }
}

private suspend fun Session.find(
    kind: DiscoveryKind,
    stop: Job?,
    progress: (DiscoveryProgress) -> Unit,
): Subnet =
    when (kind) {
        DiscoveryKind.DR -> fabric.discover(stop = stop, progress = progress)
        DiscoveryKind.LID -> fabric.discoverByLid(stop = stop, progress = progress)
        DiscoveryKind.SA -> tables(fabric) ?: fabric.byRecords().discover(stop = stop, progress = progress)
    }

/** All records at once, or null where long messages do not arrive, as under ibsim. */
private suspend fun tables(fabric: Fabric): Subnet? =
    try {
        fabric.discoverBySa()
    } catch (_: MadReplyException) {
        null
    } catch (_: MadTransferException) {
        null
    }
