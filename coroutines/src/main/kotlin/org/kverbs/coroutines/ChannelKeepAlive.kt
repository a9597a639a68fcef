package org.kverbs.coroutines

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.cm.ConnectionException
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration

/**
 * Detects a peer that is gone without closing the connection. RC notices it only when something is sent. Therefore a
 * channel that has heard nothing for the interval posts an RDMA write of no bytes: the peer's device answers it,
 * without a receive or memory there. Without an answer the write fails, and the queue pair with it.
 *
 * A peer does not notice operations on its memory. Therefore a channel that used the peer's memory and sent nothing
 * sends a LOOKUP, so that the peer does not take the connection for idle.
 */
internal class ChannelKeepAlive(
    private val link: ChannelLink,
) {
    /** Number of messages of all kinds that have arrived. */
    @Volatile
    var heard = 0L
        private set

    @Volatile
    private var job: Job? = null

    /** Allows one write at a time, so that [meaningOf] can recognise it. */
    private val asking = Mutex()

    /** The purpose of the last write. [asked] is its work request id. */
    @Volatile
    private var purpose = ""

    @Volatile
    private var asked = -1L

    /** Counts a message that has arrived. Only the polling thread calls it. */
    fun heard() {
        heard++
    }

    /** Number of writes that this class has posted. */
    private val askedCount = AtomicInteger()

    /** Number of one-sided operations that were posted by the program and for large messages. */
    private val usedCount: Int get() = link.pair.oneSided.posted - askedCount.get()

    /** Changes with each message and each one-sided operation, except those that this class sends. */
    val activity: Long get() = heard + link.sent + usedCount

    /** Starts the coroutine that checks every [interval]. */
    fun begin(interval: Duration) {
        job = CoroutineScope(link.settings.context).launch { look(interval) }
        if (!link.isAlive) end()
    }

    private suspend fun look(interval: Duration) {
        while (link.isAlive) {
            val before = heard
            val sent = link.sent
            val used = usedCount
            delay(interval)
            try {
                link.memory.receives?.relieve()
                if (heard == before) ask("the keep-alive: nothing came from it for $interval")
                if (usedCount != used && link.sent == sent) withTimeoutOrNull(interval) { link.lookups.touch() }
            } catch (_: RuntimeException) {
                // the channel has ended
            }
        }
    }

    /**
     * Suspends until the peer's device has answered; it then has everything that was sent before. Ends the channel if
     * the device does not answer. The failure names the purpose [what].
     */
    suspend fun ask(what: String) {
        try {
            asking.withLock {
                link.pair.oneSided.await(WRITE, null) { requests, id ->
                    purpose = what
                    asked = id
                    askedCount.incrementAndGet()
                    requests.write(id, 0, 0)
                }
            }
        } catch (e: RdmaException) {
            link.failBehind(e)
            throw e
        }
    }

    /** Explains the failure of a request to the program if the request was this class's write; otherwise null. */
    fun meaningOf(failure: WorkCompletionException): ConnectionException? {
        if (failure.workRequestId() != asked || failure.status() != WorkCompletionStatus.RETRY_EXC_ERR) return null
        val why = "the peer did not answer $purpose, and its device acknowledges nothing (${failure.status()})"
        return LostConnection(link.whenFlushed?.address(), why).also { it.initCause(failure) }
    }

    /** Stops the coroutine, as the channel has ended. */
    fun end() {
        job?.cancel()
    }

    private companion object {
        val WRITE = WorkCompletionOpcode.RDMA_WRITE.code()
    }
}
