package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Param
import org.jetbrains.lincheck.datastructures.ThreadIdGen
import java.util.concurrent.atomic.AtomicInteger

/**
 * The class that Lincheck creates many times and runs with several threads: two credits. A thread gives back only its
 * own.
 */
abstract class LentCredits {
    private val credits = Credits(CAPACITY)
    private val own = IntArray(8)
    private val lent = AtomicInteger()

    protected suspend fun acquire(
        thread: Int,
        count: Int,
    ): Boolean {
        credits.acquire(count)
        return hold(thread, count)
    }

    protected fun tryOne(thread: Int): Boolean = credits.tryAcquire(1) && hold(thread, 1)

    protected fun giveBack(thread: Int): Int {
        val count = own[thread]
        own[thread] = 0
        lent.addAndGet(-count)
        if (count > 0) credits.release(count)
        return count
    }

    protected fun end(): Unit = credits.fail(IllegalStateException("failed"))

    private fun hold(
        thread: Int,
        count: Int,
    ): Boolean {
        own[thread] += count
        check(lent.addAndGet(count) <= CAPACITY) { "lent more than there are" }
        return true
    }

    private companion object {
        const val CAPACITY = 2
    }
}

/** Callers are not cancelled here. */
class PatientCredits : LentCredits() {
    @Operation(cancellableOnSuspension = false)
    suspend fun acquireOne(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = acquire(thread, 1)

    @Operation(cancellableOnSuspension = false)
    suspend fun acquireBoth(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = acquire(thread, 2)

    @Operation
    fun tryAcquire(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = tryOne(thread)

    @Operation
    fun release(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Int = giveBack(thread)

    @Operation
    fun fail(): Unit = end()
}

/**
 * Waiting callers can be cancelled, even after they got their credits. Without tryAcquire, which can return false until
 * such credits are back: the model has no such moment, and real callers wait then.
 */
class CancelledCredits : LentCredits() {
    @Operation(promptCancellation = true)
    suspend fun acquireOne(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = acquire(thread, 1)

    @Operation(promptCancellation = true)
    suspend fun acquireBoth(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = acquire(thread, 2)

    @Operation
    fun release(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Int = giveBack(thread)

    @Operation
    fun fail(): Unit = end()
}

class CreditsLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        for (credits in listOf(PatientCredits::class, CancelledCredits::class)) {
            test(
                "should lend and take back as one thread would, in every order that model checking tries " +
                    "(${credits.simpleName})",
            ) {
                checkOrders(credits)
            }

            test("should lend and take back as one thread would, under stress (${credits.simpleName})") {
                checkUnderStress(credits)
            }
        }
    })
