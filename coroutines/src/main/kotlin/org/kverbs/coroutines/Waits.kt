package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.CompletionCounter
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.MemoryAdvice
import org.kverbs.cm.AddressHints
import org.kverbs.cm.AddressInfo
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventChannel
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.toJavaDuration

// Suspending forms of calls of the core that wait, for programs that use those objects themselves. RdmaHost, RdmaServer
// and CompletionDispatcher have the others.

private const val EAGER_READS = 100
private const val A_DAY_MILLIS = 86_400_000L

/**
 * Suspends until the counter has at least the value [least], compared as unsigned numbers, and returns the value.
 *
 * No device announces a value. Therefore this reads a hundred times in a row, and then every [interval].
 *
 * @param failuresBefore how many failures the counter has already that do not end the wait. Read it
 *     ([CompletionCounter.readErrors]) before you post: an operation that fails before the wait begins then ends it, too
 * @throws CountedFailureException if operations have failed since that the counter counts
 * @throws IllegalArgumentException if [interval] is not above 0
 * @throws IllegalStateException if the counter is closed
 * @throws org.kverbs.RdmaSystemException if the device refuses a read
 */
public suspend fun CompletionCounter.await(
    least: Long,
    interval: Duration = 1.milliseconds,
    failuresBefore: Long = readErrors(),
): Long {
    require(interval.isPositive()) { "interval($interval): give a time above 0" }
    var rounds = 0
    while (true) {
        // First the failures: an operation that fails behind the ones that the caller waits for does not count.
        val failed = readErrors() - failuresBefore
        val value = read()
        if (value.toULong() >= least.toULong()) return value
        if (failed != 0L) throw CountedFailureException(describe(), failed)
        if (rounds++ < EAGER_READS) yield() else delay(interval)
    }
}

/**
 * Advises the device about memory, and suspends until it has acted on that (ibv_advise_mr with
 * IBV_ADVISE_MR_FLAG_FLUSH).
 * The call runs on [Dispatchers.IO], and cannot be interrupted: a cancelled caller returns when it has ended. Errors as
 * [ProtectionDomain.advise]; `adviseLater` does not wait.
 */
public suspend fun ProtectionDomain.awaitAdvice(
    advice: MemoryAdvice,
    vararg slices: MemorySlice,
): Unit = withContext(Dispatchers.IO) { advise(advice, *slices) }

/**
 * Finds the addresses of a host and a service (rdma_getaddrinfo), and suspends while a name server is asked. The call
 * runs on [Dispatchers.IO], and cannot be interrupted: a cancelled caller returns when it has ended. Parameters and
 * errors as [ConnectionEventChannel.addressInfo].
 */
public suspend fun ConnectionEventChannel.awaitAddressInfo(
    node: String?,
    service: String?,
    hints: AddressHints,
): List<AddressInfo> = withContext(Dispatchers.IO) { addressInfo(node, service, hints) }

/**
 * Suspends until an event of the connection manager comes (rdma_get_cm_event), and returns it. The wait takes a thread
 * of [Dispatchers.IO]. A cancelled caller returns at once; an event that came at that moment is lost, therefore use
 * [events] rather than a timeout for each event. Errors as [ConnectionEventChannel.awaitEvent].
 */
public suspend fun ConnectionEventChannel.awaitEvent(): ConnectionEvent =
    runInterruptible(Dispatchers.IO) {
        var event: ConnectionEvent? = null
        while (event == null) event = awaitEvent(A_DAY_MILLIS.milliseconds.toJavaDuration())
        event
    }

/**
 * Returns the events of a channel of the program's own. The flow ends by the exception of the wait: an
 * IllegalStateException when the channel is closed. Each event goes to one collector.
 */
public fun ConnectionEventChannel.events(): Flow<ConnectionEvent> = flow { while (true) emit(awaitEvent()) }
