package org.kverbs.coroutines

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionOpcode
import kotlin.time.Duration

/**
 * Finds out that the peer has gone without a word. RC notices it only when something is sent, so a channel that has
 * heard nothing for a while makes an RDMA write of no bytes: the peer's device answers it, and no receive nor any
 * memory is needed there. If nothing answers, the write fails, and with it the queue pair.
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

    /** A message came. Called by the polling thread alone. */
    fun heard() {
        heard++
    }

    /** Begins to look every [interval]. */
    fun begin(interval: Duration) {
        job = CoroutineScope(link.settings.context).launch { look(interval) }
        if (!link.isAlive) end()
    }

    private suspend fun look(interval: Duration) {
        while (link.isAlive) {
            val before = heard
            delay(interval)
            try {
                link.memory.receives?.relieve()
                if (heard == before) ask()
            } catch (_: RuntimeException) {
                // the channel has ended
            }
        }
    }

    /**
     * Suspends until the peer's device has answered, and with that has all that was sent before. Ends the channel if it
     * does not answer.
     */
    suspend fun ask() {
        try {
            link.pair.oneSided.await(WRITE, null) { requests, id -> requests.write(id, 0, 0) }
        } catch (e: RdmaException) {
            link.failBehind(e)
            throw e
        }
    }

    /** The channel has ended. */
    fun end() {
        job?.cancel()
    }

    private companion object {
        val WRITE = WorkCompletionOpcode.RDMA_WRITE.code()
    }
}
