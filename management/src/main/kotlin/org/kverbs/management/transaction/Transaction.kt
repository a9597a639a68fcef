package org.kverbs.management.transaction

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.RMPPStatus
import kotlin.time.Duration

/** One request that waits for its answer. */
internal class Transaction(
    val id: Int,
    val request: ByteArray,
    private val path: MadPath,
) {
    private val end = CompletableDeferred<ByteArray?>()
    private val losses = Channel<Unit>(Channel.CONFLATED)
    private val progress = Channel<Unit>(Channel.CONFLATED)

    /** The last answer that asked for patience. */
    @Volatile
    var busy: ByteArray? = null

    /** Why the last long message of the transaction was not carried to its end. */
    @Volatile
    var failure: RMPPStatus? = null

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
    fun end(reply: ByteArray?): Boolean = end.complete(reply)

    /** Ends the present attempt. */
    fun lose() {
        losses.trySend(Unit)
    }

    /** Gives the present attempt its whole time once more. */
    fun progress() {
        progress.trySend(Unit)
    }

    val isEnded: Boolean get() = end.isCompleted

    /** Returns what [end] got. After [isEnded] this neither waits nor is cancelled. */
    suspend fun reply(): ByteArray? = end.await()

    /**
     * Waits until the transaction ends, the fabric has lost the request, or the time since the last progress is over;
     * at most for [longest], as a peer can feign progress.
     */
    suspend fun await(
        timeout: Duration,
        longest: Duration,
    ) {
        withTimeoutOrNull(maxOf(timeout, longest)) { awaitProgress(timeout) }
    }

    private suspend fun awaitProgress(timeout: Duration) {
        do {
            val isMoving =
                withTimeoutOrNull(timeout) {
                    select {
                        end.onAwait { false }
                        losses.onReceive { false }
                        progress.onReceive { true }
                    }
                }
        } while (isMoving == true)
    }
}
