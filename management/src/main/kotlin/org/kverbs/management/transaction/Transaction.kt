package org.kverbs.management.transaction

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.management.structures.RMPPStatus
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicReference
import kotlin.time.Duration

/** The end of a transaction whose transactor closes. */
private val CLOSED = ByteArray(0)

/** One request that waits for its answer. */
internal class Transaction(
    val id: Int,
    val request: ByteArray,
) {
    private val end = AtomicReference<ByteArray>()
    private val isLost = AtomicBoolean()
    private val isMoving = AtomicBoolean()

    /** Says that one of the three above has changed: one place to wait at costs less than a choice of three. */
    private val changes = Channel<Unit>(Channel.CONFLATED)

    /** The last answer that asked for patience. */
    @Volatile
    var busy: ByteArray? = null

    /** Why the last long message of the transaction was not carried to its end. */
    @Volatile
    var failure: RMPPStatus? = null

    /** Whether [mad] answers the request. Its id was compared before. */
    fun isAnsweredBy(mad: ByteArray): Boolean =
        MadFields.mgmtClass(mad) == MadFields.mgmtClass(request) &&
            MadFields.attribute(mad) == MadFields.attribute(request) &&
            MadFields.isAnswered(request, MadFields.method(mad))

    /** Whether [mad] is of the request itself, which is on its way, or of its answer. */
    fun isPart(mad: ByteArray): Boolean =
        isAnsweredBy(mad) ||
            (
                MadFields.mgmtClass(mad) == MadFields.mgmtClass(request) &&
                    MadFields.method(mad) == MadFields.method(request)
            )

    /** Ends the wait; null for a transactor that closes. Returns whether it was the first to do so. */
    fun end(reply: ByteArray?): Boolean =
        end.compareAndSet(null, reply ?: CLOSED).also { isFirst -> if (isFirst) changes.trySend(Unit) }

    /** Ends the present attempt. */
    fun lose() {
        isLost.set(true)
        changes.trySend(Unit)
    }

    /** Gives the present attempt its whole time once more. */
    fun progress() {
        isMoving.set(true)
        changes.trySend(Unit)
    }

    val isEnded: Boolean get() = end.get() != null

    /** Returns what [end] got: null for a transactor that closes, or before the end. */
    fun reply(): ByteArray? = end.get().takeIf { it !== CLOSED }

    /**
     * Waits until the transaction ends, the fabric has lost the request, or the time since the last progress is over;
     * after the first progress at most for [longest], as a peer can feign progress.
     */
    suspend fun await(
        timeout: Duration,
        longest: Duration,
    ) {
        // Nearly all answers come without progress before them, and pay for one timer.
        if (!isMovingWithin(timeout)) return
        withTimeoutOrNull(maxOf(timeout, longest)) {
            do {
                val isMoving = isMovingWithin(timeout)
            } while (isMoving)
        }
    }

    private suspend fun isMovingWithin(timeout: Duration): Boolean =
        withTimeoutOrNull(timeout) {
            var isOver = false
            while (!isOver) {
                changes.receive()
                isOver = isEnded || isLost.getAndSet(false)
                if (!isOver && isMoving.getAndSet(false)) return@withTimeoutOrNull true
            }
            false
        } ?: false
}
