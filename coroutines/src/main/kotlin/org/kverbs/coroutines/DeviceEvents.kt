package org.kverbs.coroutines

import kotlinx.coroutines.channels.ProducerScope
import kotlinx.coroutines.channels.awaitClose
import kotlinx.coroutines.channels.trySendBlocking
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.callbackFlow
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.flow.flow
import org.kverbs.AsyncEvent
import org.kverbs.Context
import java.time.Duration
import java.util.concurrent.ConcurrentHashMap

/**
 * Returns the asynchronous events of the device, its ports and its queues (ibv_get_async_event(3)).
 *
 * A thread of its own waits for events while the flow is collected, and the device keeps them for a slow collector.
 * A device has one collector at a time, because each event is given out once: use
 * `asyncEvents().shareIn(scope, Eagerly)` for several. A second collector gets an IllegalStateException. After the
 * collector is cancelled, the thread needs up to 100 ms to notice; an event that comes meanwhile is lost.
 *
 * The flow leaves out events of the receive queues that message connections share (SRQ_LIMIT_REACHED,
 * QP_LAST_WQE_REACHED): the library handles them.
 *
 * When the device is closed, the flow fails with an IllegalStateException.
 */
public fun Context.asyncEvents(): Flow<AsyncEvent> =
    callbackFlow {
        check(collected.add(this@asyncEvents)) {
            "the events of ${describe()} are being collected already; share the flow with shareIn for several " +
                "collectors"
        }
        try {
            val thread =
                Thread
                    .ofPlatform()
                    .daemon()
                    .name(
                        "kverbs-events-${device().name()}",
                    ).start { hand(this@asyncEvents) }
            awaitClose { thread.interrupt() }
        } finally {
            collected.remove(this@asyncEvents)
        }
    }

/** The devices whose events are collected now. */
private val collected: MutableSet<Context> = ConcurrentHashMap.newKeySet()

private fun ProducerScope<AsyncEvent>.hand(device: Context) {
    try {
        while (true) {
            val event = device.awaitAsyncEvent(FOREVER) ?: continue
            if (SharedReceives.isOwn(event)) continue
            if (trySendBlocking(event).isFailure) return
        }
    } catch (_: InterruptedException) {
        // the collector has ended
    } catch (e: RuntimeException) {
        close(e)
    }
}

private val FOREVER = Duration.ofDays(1)

/**
 * Returns the state of every port, and then each change of a port.
 *
 * @param events the events of the ports. The default collects [asyncEvents], which has one collector at a time
 */
public fun Context.ports(events: Flow<AsyncEvent> = asyncEvents()): Flow<PortStatus> =
    flow {
        val known = HashMap<Int, PortStatus>()
        for (port in 1..queryDevice().physPortCnt()) emit(status(port).also { known[port] = it })
        events.filter { it.port > 0 }.collect { event ->
            val now = status(event.port)
            if (known.put(now.port, now) != now) emit(now)
        }
    }

private fun Context.status(port: Int) = PortStatus(port, queryPort(port))
