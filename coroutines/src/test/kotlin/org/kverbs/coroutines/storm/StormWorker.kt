package org.kverbs.coroutines.storm

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import kotlin.random.Random

/**
 * A coroutine of the storm: runs one operation after the other on its lane's link, and is disturbed in some of them.
 *
 * @param slot the place at the other end that only this worker of its end writes
 * @param kinds the operations, chosen at random
 * @param isOver returns true if there were enough operations
 */
class StormWorker(
    private val number: Int,
    private val lane: StormLane,
    private val isClient: Boolean,
    private val slot: Int,
    private val kinds: List<StormKind>,
    private val ledger: StormLedger,
    private val random: Random,
    private val isOver: () -> Boolean,
) {
    private var link: StormLink? = null
    private var operations: StormOperations? = null
    private var count = 0

    /** True if the worker has stopped. */
    @Volatile
    var isDone = false
        private set

    /**
     * The current operation, null while the worker waits for a link or its first turn, and its begin by
     * System.nanoTime; for the report of a hang.
     */
    @Volatile
    var doing: StormKind? = null
        private set

    @Volatile
    var since = System.nanoTime()
        private set

    val isReceiver: Boolean get() = kinds.size == 1

    /** Works until the storm is over. */
    suspend fun work() {
        while (!isOver()) {
            since = System.nanoTime()
            val link = lane.link()
            ledger.begin()
            one(operations(link), kinds.random(random))
            doing = null
        }
        isDone = true
    }

    private fun operations(now: StormLink): StormOperations {
        if (link !== now) {
            link = now
            val ends = if (isClient) now.client to now.server else now.server to now.client
            operations = StormOperations(now, ends.first, ends.second, slot, ledger, random)
        }
        return checkNotNull(operations)
    }

    private suspend fun one(
        operations: StormOperations,
        kind: StormKind,
    ) {
        doing = kind
        val id = StormId(number, ++count)
        val outcome =
            try {
                if (disturbed(kind) { operations.run(kind, id) }) StormOutcome.COMPLETED else StormOutcome.CANCELLED
            } catch (e: CancellationException) {
                ledger.end(kind, StormOutcome.CANCELLED)
                throw e
            } catch (e: Exception) {
                ledger.failed(reason(id, kind, e))
                lane.broken(checkNotNull(link))
                StormOutcome.FAILED
            }
        ledger.end(kind, outcome)
    }

    /**
     * Runs an operation undisturbed, with a short timeout, or with a cancellation at some moment. False if it was ended
     * early.
     */
    private suspend fun disturbed(
        kind: StormKind,
        operation: suspend () -> Unit,
    ): Boolean =
        when (random.nextInt(8)) {
            0 -> {
                withTimeoutOrNull(random.nextLong(4)) { operation() } != null
            }

            1 -> {
                cancelled(operation)
            }

            else -> {
                if (kind == StormKind.RECEIVE) {
                    withTimeoutOrNull(RECEIVE_MILLIS) { operation() } != null
                } else {
                    operation().let { true }
                }
            }
        }

    private suspend fun cancelled(operation: suspend () -> Unit): Boolean =
        supervisorScope {
            val start = if (random.nextBoolean()) CoroutineStart.UNDISPATCHED else CoroutineStart.DEFAULT
            // Not the coroutine's own result, which is lost when it was cancelled: a failure must not be.
            var result: Result<Unit>? = null
            val job = launch(start = start) { result = runCatching { operation() } }
            repeat(random.nextInt(4)) { yield() }
            job.cancelAndJoin()
            val failure = result?.exceptionOrNull()
            if (failure != null && failure !is CancellationException) throw failure
            result?.isSuccess == true
        }

    /** Records a failure. A failure that a broken link cannot cause is a violation. */
    private fun reason(
        id: StormId,
        kind: StormKind,
        e: Exception,
    ): String {
        val known =
            when (e) {
                is WorkCompletionException -> completionReason(e)
                is WorkRequestException -> "refused"
                is IllegalStateException -> if ("close" in e.message.orEmpty()) "closed" else null
                else -> null
            }
        if (known == null) ledger.violation("$id, $kind: ${e.stackTraceToString().take(2000)}")
        return known ?: "other"
    }

    private fun completionReason(e: WorkCompletionException): String? =
        when (e.status()) {
            WorkCompletionStatus.RETRY_EXC_ERR -> "no answer"
            WorkCompletionStatus.WR_FLUSH_ERR -> if (e.cause is WorkCompletionException) "flushed" else null
            else -> null
        }

    override fun toString(): String = "worker $number: $doing for ${(System.nanoTime() - since) / 1_000_000_000} s"

    private companion object {
        /** The time that a receive waits for a message, which is perhaps never sent. */
        const val RECEIVE_MILLIS = 50L
    }
}
