package org.kverbs.management.transaction

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.RMPPStatus
import java.util.concurrent.atomic.AtomicReference
import kotlin.time.Duration

/**
 * One request that waits for its answer. One coroutine awaits; any thread tells what happened.
 *
 * There is one channel for all news, and a field for each: a discovery opens thousands of transactions a second, and a
 * `select` over three sources cost more than the rest of a transaction.
 */
internal class Transaction(
    val id: Int,
    val request: ByteArray,
    private val path: MadPath,
) {
    private val news = Channel<Unit>(Channel.CONFLATED)
    private val end = AtomicReference<End?>()

    @Volatile
    private var isLost = false

    @Volatile
    private var hasMoved = false

    private class End(
        val reply: ByteArray?,
    )

    /** The last answer that asked for patience. */
    @Volatile
    var busy: ByteArray? = null

    /** Why the last long message of the transaction was not carried to its end. */
    @Volatile
    var failure: RMPPStatus? = null

    /** How many datagrams came under the transaction's number that are no answer to it. */
    @Volatile
    var strays: Int = 0

    /** Whether [mad], to whose sender [back] leads, answers the request. Its id was compared before. */
    fun isAnsweredBy(
        mad: ByteArray,
        back: MadPath?,
    ): Boolean = isLikeAnswer(mad) && isAsked(back)

    /** A directed route, and a port without a LID, do not say where a datagram comes from. */
    private fun isAsked(back: MadPath?): Boolean {
        if (back !is LidPath || path !is LidPath || !path.destination.isUnicast) return true
        if (MadFields.mgmtClass(request) == ManagementClass.SUBN_DIRECTED_ROUTE.value) return true
        val asked = path.globalRoute?.dgid()
        val from = back.globalRoute?.dgid()
        return if (asked != null && from != null) asked == from else back.destination == path.destination
    }

    private fun isLikeAnswer(mad: ByteArray): Boolean =
        MadFields.mgmtClass(mad) == MadFields.mgmtClass(request) &&
            MadFields.attribute(mad) == MadFields.attribute(request) &&
            MadFields.isAnswered(request, MadFields.method(mad))

    /** Whether [mad] is of the request itself, which is on its way, or of its answer. */
    fun isPart(mad: ByteArray): Boolean =
        isLikeAnswer(mad) ||
            (
                MadFields.mgmtClass(mad) == MadFields.mgmtClass(request) &&
                    MadFields.method(mad) == MadFields.method(request)
            )

    /** Ends the wait; null for a transactor that closes. Returns whether it was the first to do so. */
    fun end(reply: ByteArray?): Boolean = end.compareAndSet(null, End(reply)).also { news.trySend(Unit) }

    /** Ends the present attempt. */
    fun lose() {
        isLost = true
        news.trySend(Unit)
    }

    /** Gives the present attempt its whole time once more. */
    fun progress() {
        hasMoved = true
        news.trySend(Unit)
    }

    val isEnded: Boolean get() = end.get() != null

    /** Returns what [end] got, after [isEnded]. */
    fun reply(): ByteArray? = checkNotNull(end.get()).reply

    /**
     * Waits until the transaction ends, the fabric has lost the request, or the time since the last progress is over.
     * Progress prolongs the wait by at most [longest], as a peer can feign it.
     */
    suspend fun await(
        timeout: Duration,
        longest: Duration,
    ) {
        if (hasProgressed(timeout)) {
            withTimeoutOrNull(longest) {
                while (hasProgressed(timeout)) continue
            }
        }
        isLost = false
    }

    /** Waits for one of the three, or for progress, and returns whether it was that. */
    private suspend fun hasProgressed(timeout: Duration): Boolean {
        val isMoving =
            withTimeoutOrNull(timeout) {
                while (!isEnded && !isLost && !hasMoved) news.receive()
                !isEnded && !isLost
            }
        hasMoved = false
        return isMoving == true
    }
}
