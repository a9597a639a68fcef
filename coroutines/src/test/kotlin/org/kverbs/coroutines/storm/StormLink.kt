package org.kverbs.coroutines.storm

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.MemoryRegion
import org.kverbs.RemoteMemory
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.Mtu
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.connect
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.connectOptions
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/**
 * One end of a link: its queue pair, the memory that the other end uses, and the record of what this end has sent and
 * added there.
 */
class StormEnd(
    val node: StormNode,
    val qp: AsyncQueuePair<RcVerbs>,
    val region: MemoryRegion,
) {
    /** The messages that this end began to send, that were acknowledged, and that the other end has received. */
    val sent: MutableSet<Long> = ConcurrentHashMap.newKeySet()
    val acknowledged: MutableSet<Long> = ConcurrentHashMap.newKeySet()
    val delivered: MutableSet<Long> = ConcurrentHashMap.newKeySet()

    /**
     * The values that this end's additions found at the other end, and the number of additions whose outcome is not
     * known.
     */
    val found: MutableSet<Long> = ConcurrentHashMap.newKeySet()
    val uncertain = AtomicInteger()

    val remote: RemoteMemory = region.remote()

    fun close() {
        qp.close()
        region.close()
    }

    /** The counter that the other end adds to. */
    val counter: Long get() = region.memory().get(JAVA_LONG, 0)

    companion object {
        const val SENDS = 16
        const val RECEIVES = 16
        const val SLOTS = 64L
        const val SLOT = 512L

        /** The owner of the paint in a slot that was not written. */
        const val NOBODY = -1L
        val ACCESS: Array<AccessFlag> = arrayOf(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC)

        fun at(slot: Int): Long = SLOTS + slot * SLOT
    }
}

/** Two connected queue pairs. When one breaks, another link replaces this one. */
class StormLink(
    val client: StormEnd,
    val server: StormEnd,
    private val ledger: StormLedger,
) {
    /** Number of coroutines that use the link; the sign bit is set when no more can. */
    private val users = AtomicInteger()
    private val unused = CompletableDeferred<Unit>()

    init {
        client.qp.connect(server.qp.endpoint(OPTIONS), OPTIONS)
        server.qp.connect(client.qp.endpoint(OPTIONS), OPTIONS)
    }

    /** Runs a block that ends when the link ends. */
    suspend inline fun use(block: () -> Unit) {
        enter()
        try {
            block()
        } finally {
            leave()
        }
    }

    fun enter() {
        if (users.getAndIncrement() >= 0) return
        leave()
        throw IllegalStateException("the link was closed")
    }

    fun leave() {
        if (users.decrementAndGet() == ENDING) unused.complete(Unit)
    }

    /** Closes the queue pairs, which must end every use of the link, and checks the remains. */
    suspend fun end() {
        if (users.getAndUpdate { it or ENDING } == 0) unused.complete(Unit)
        client.qp.close()
        server.qp.close()
        withTimeoutOrNull(HANG_MILLIS) { unused.await() }
            ?: ledger.violation(
                "a close of both queue pairs did not end ${users.get() xor ENDING} waits in $HANG_MILLIS ms",
            )
        check(client, server)
        check(server, client)
        client.close()
        server.close()
    }

    private fun check(
        from: StormEnd,
        to: StormEnd,
    ) {
        val counter =
            try {
                to.counter
            } catch (_: IllegalStateException) {
                return // its device was closed, and with it the memory
            }
        val most = from.found.size + from.uncertain.get()
        if (counter < from.found.size || counter > most || from.found.any { it >= counter }) {
            ledger.violation(
                "${from.found.size} additions were done and ${from.uncertain} perhaps, but $counter were counted",
            )
        }
    }

    companion object {
        /** Far longer than ten thousand coroutines need for one turn each, even on a busy machine. */
        const val HANG_MILLIS = 300_000L
        private const val ENDING = Int.MIN_VALUE

        /**
         * Small packets; retries after 8 ms, seven times; a peer without a receive is tried again after 0.08 ms, for
         * ever.
         */
        val OPTIONS = connectOptions { timeout(11).retryCount(7).rnrRetry(7).minRnrTimer(6).pathMtu(Mtu.MTU_256) }
    }
}
