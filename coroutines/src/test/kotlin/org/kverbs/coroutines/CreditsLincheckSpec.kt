package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Param
import org.jetbrains.lincheck.datastructures.StressOptions
import org.jetbrains.lincheck.datastructures.ThreadIdGen
import java.util.concurrent.atomic.AtomicInteger

/** What Lincheck makes many of and runs from several threads: two credits. A thread gives back its own only. */
class CreditsUnderLincheck {
    private val credits = Credits(CAPACITY)
    private val own = IntArray(8)
    private val lent = AtomicInteger()

    @Operation(promptCancellation = true)
    suspend fun acquireOne(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean {
        credits.acquire(1)
        return hold(thread, 1)
    }

    @Operation(promptCancellation = true)
    suspend fun acquireBoth(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean {
        credits.acquire(2)
        return hold(thread, 2)
    }

    @Operation
    fun tryAcquire(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = credits.tryAcquire(1) && hold(thread, 1)

    @Operation
    fun release(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Int {
        val count = own[thread]
        own[thread] = 0
        lent.addAndGet(-count)
        if (count > 0) credits.release(count)
        return count
    }

    @Operation
    fun fail(): Unit = credits.fail(IllegalStateException("failed"))

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

class CreditsLincheckSpec :
    FunSpec({
        timeout = 300_000

        test("should lend and take back as if one did it at a time, in every order that model checking tries") {
            ModelCheckingOptions()
                .iterations(10)
                .invocationsPerIteration(100)
                .threads(3)
                .actorsPerThread(2)
                .actorsBefore(1)
                .actorsAfter(0)
                .check(CreditsUnderLincheck::class)
        }

        test("should lend and take back as if one did it at a time, under stress") {
            StressOptions()
                .iterations(10)
                .invocationsPerIteration(1000)
                .threads(3)
                .actorsPerThread(2)
                .actorsBefore(1)
                .actorsAfter(0)
                .check(CreditsUnderLincheck::class)
        }
    })
