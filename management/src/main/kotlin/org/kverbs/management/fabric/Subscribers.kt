package org.kverbs.management.fabric

import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.kverbs.management.sa.SubnetAdministration
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.transaction.MadException
import org.kverbs.structures.copy

/**
 * The subscriptions of a fabric at the subnet administrator, which knows a port and what it wants, and not how many
 * collectors want it: the last collector ends the subscription that the first one began.
 */
internal class Subscribers(
    private val sa: SubnetAdministration,
) {
    private val asking = Mutex()
    private val collectors = HashMap<InformInfo, Int>()

    suspend fun begin(wanted: InformInfo) =
        asking.withLock {
            val before = collectors[wanted] ?: 0
            if (before == 0) sa.inform(wanted.copy { subscribe = 1 })
            collectors[wanted] = before + 1
        }

    suspend fun end(wanted: InformInfo) =
        asking.withLock {
            val rest = (collectors.remove(wanted) ?: 0) - 1
            if (rest > 0) collectors[wanted] = rest else unsubscribe(wanted)
        }

    private suspend fun unsubscribe(wanted: InformInfo) {
        try {
            sa.inform(wanted.copy { subscribe = 0 })
        } catch (_: MadException) {
            // The administrator does not answer; it drops a subscriber that answers no report.
        } catch (_: IllegalStateException) {
            // The fabric is closed.
        }
    }
}
