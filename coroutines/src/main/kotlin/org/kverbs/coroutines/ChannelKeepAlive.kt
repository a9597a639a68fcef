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
 * Finds out that the peer has gone without a word. RC notices it only when something is sent, so a channel that has
 * heard nothing for a while makes an RDMA write of no bytes: the peer's device answers it, and no receive nor any
 * memory is needed there. If nothing answers, the write fails, and with it the queue pair.
 *
 * A peer does not notice that its memory is used. So a channel that used it, and sent nothing, says so by a question,
 * and the peer does not take it for idle.
 */
internal class ChannelKeepAlive(
    private val link: ChannelLink,
) {
    /** How many messages came, of all kinds. */
    @Volatile
    var heard = 0L
        private set

    @Volatile
    private var job: Job? = null

    /** Only one write at a time, so that [meaningOf] knows it. */
    private val asking = Mutex()

    /** What the last write was for, and its id. */
    @Volatile
    private var purpose = ""

    @Volatile
    private var asked = -1L

    /** A message came. Called by the polling thread alone. */
    fun heard() {
        heard++
    }

    /** How many writes of this class were posted. */
    private val askedCount = AtomicInteger()

    /** How many one-sided operations were posted, by the user and for large messages. */
    private val usedCount: Int get() = link.pair.oneSided.posted - askedCount.get()

    /** Changes with all that comes and goes, but for what this class sends. */
    val activity: Long get() = heard + link.sent + usedCount

    /** Begins to look every [interval]. */
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
     * Suspends until the peer's device has answered, and with that has all that was sent before. Ends the channel if it
     * does not answer [what].
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

    /** What it means that a request failed, if it is the write of this side, of which the user knows nothing. */
    fun meaningOf(failure: WorkCompletionException): ConnectionException? {
        if (failure.workRequestId() != asked || failure.status() != WorkCompletionStatus.RETRY_EXC_ERR) return null
        val why = "the peer did not answer $purpose, and its device acknowledges nothing (${failure.status()})"
        return LostConnection(link.whenFlushed?.address(), why).also { it.initCause(failure) }
    }

    /** The channel has ended. */
    fun end() {
        job?.cancel()
    }

    private companion object {
        val WRITE = WorkCompletionOpcode.RDMA_WRITE.code()
    }
}
