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

/**
 * What happens to the device, its ports and its queues without being asked for (ibv_get_async_event(3)).
 *
 * A thread of its own waits for events while the flow is collected, and the device keeps them for a collector that is
 * slow. Each event goes to one collector only: `asyncEvents().shareIn(scope, Eagerly)` is for several. An event that
 * comes just after its collector was cancelled, within the 100 ms in which the thread notices, is lost.
 *
 * News of the receives that message connections share are left out (SRQ_LIMIT_REACHED, QP_LAST_WQE_REACHED): those are
 * this library's own.
 *
 * The flow ends with an IllegalStateException when the device is closed.
 */
public fun Context.asyncEvents(): Flow<AsyncEvent> =
    callbackFlow {
        val thread =
            Thread
                .ofPlatform()
                .daemon()
                .name(
                    "kverbs-events-${device().name()}",
                ).start { hand(this@asyncEvents) }
        awaitClose { thread.interrupt() }
    }

private fun ProducerScope<AsyncEvent>.hand(device: Context) {
    try {
        while (true) {
            val event = device.awaitAsyncEvent(FOREVER) ?: continue
            if (SharedReceives.isOwn(event)) continue
            if (trySendBlocking(event).isFailure) return
        }
    } catch (_: InterruptedException) {
        // nobody collects any more
    } catch (e: RuntimeException) {
        close(e)
    }
}

private val FOREVER = Duration.ofDays(1)

/**
 * The state of all ports, and then each change of one.
 *
 * @param events where news of ports come from. Default takes the device's events, which no other collector gets then
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
