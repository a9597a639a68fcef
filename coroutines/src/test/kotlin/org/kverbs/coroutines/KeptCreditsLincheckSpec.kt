package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Validate
import java.util.concurrent.atomic.AtomicInteger

/**
 * The class that Lincheck creates many times and runs with several threads: two credits, which a polling thread takes
 * and gets back as [SendSide] does, while other threads take and give back theirs.
 */
class KeptCreditsUnderLincheck {
    private val credits = Credits(CAPACITY)
    private val kept = KeptCredits(credits)
    private val lent = AtomicInteger()

    /** Takes a credit on the polling thread, whose request completes at once, several times in a round. */
    @Operation(nonParallelGroup = "poller")
    fun pollingRound() {
        repeat(3) {
            if (kept.tryTake() || credits.tryAcquire(1)) {
                hold()
                lent.decrementAndGet()
                kept.keep(1)
            }
        }
        kept.endRound()
    }

    /** Takes a credit on another thread, and gives it back. */
    @Operation(cancellableOnSuspension = false)
    suspend fun borrow() {
        credits.acquire(1)
        hold()
        lent.decrementAndGet()
        credits.release(1)
    }

    /** Takes both credits on another thread, and gives them back. */
    @Operation(promptCancellation = true)
    suspend fun borrowBoth() {
        credits.acquire(CAPACITY)
        lent.addAndGet(CAPACITY)
        lent.addAndGet(-CAPACITY)
        credits.release(CAPACITY)
    }

    private fun hold() = check(lent.incrementAndGet() <= CAPACITY) { "lent more than there are" }

    /** When all is quiet each credit is free, and no caller waits. */
    @Validate
    fun isWhole() {
        check(credits.available == CAPACITY) { "${credits.available} of $CAPACITY credits are left" }
        check(credits.waitingCount == 0) { "${credits.waitingCount} callers wait for credits that are free" }
    }

    private companion object {
        const val CAPACITY = 2
    }
}

class KeptCreditsLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        test("should lose no credit and no waiter, in every order that model checking tries") {
            checkOrders(KeptCreditsUnderLincheck::class)
        }

        test("should lose no credit and no waiter, under stress") {
            checkUnderStress(KeptCreditsUnderLincheck::class)
        }
    })
