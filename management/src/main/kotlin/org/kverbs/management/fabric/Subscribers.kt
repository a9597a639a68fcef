package org.kverbs.management.fabric

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import org.kverbs.management.sa.SubnetAdministration
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.MadTransportException
import org.kverbs.structures.copy
import java.util.concurrent.ConcurrentHashMap

/**
 * The subscriptions of a fabric at the subnet administrator, which knows a port and what it wants, and not how many
 * collectors want it: the last collector ends the subscription that the first one began.
 */
internal class Subscribers(
    private val sa: SubnetAdministration,
) {
    /** Filters that differ wait for each other rarely: an administrator that does not answer costs seconds. */
    private val asking = List(LOCKS) { Mutex() }
    private val collectors = ConcurrentHashMap<InformInfo, Int>()

    private fun lock(wanted: InformInfo) = asking[Math.floorMod(wanted.hashCode(), LOCKS)]

    suspend fun begin(wanted: InformInfo) =
        lock(wanted).withLock {
            val before = collectors[wanted] ?: 0
            if (before == 0) subscribe(wanted)
            collectors[wanted] = before + 1
        }

    private suspend fun subscribe(wanted: InformInfo) {
        try {
            sa.inform(wanted.copy { subscribe = 1 })
        } catch (e: CancellationException) {
            // The administrator can have carried it out, and nobody would end it.
            withContext(NonCancellable) { unsubscribe(wanted) }
            throw e
        }
    }

    suspend fun end(wanted: InformInfo) =
        lock(wanted).withLock {
            val rest = (collectors.remove(wanted) ?: 0) - 1
            if (rest > 0) collectors[wanted] = rest else unsubscribe(wanted)
        }

    private suspend fun unsubscribe(wanted: InformInfo) {
        try {
            sa.inform(wanted.copy { subscribe = 0 })
        } catch (_: MadException) {
            // The administrator does not answer; it drops a subscriber that answers no report.
        } catch (_: MadTransportException) {
            // The device is gone, or the port has lost its manager.
        } catch (_: IllegalStateException) {
            // The fabric is closed.
        }
    }

    private companion object {
        private const val LOCKS = 16
    }
}
