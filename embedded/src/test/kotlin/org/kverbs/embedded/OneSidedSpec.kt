package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.doubles.shouldBeLessThan
import org.kverbs.WorkCompletions
import java.util.concurrent.locks.LockSupport

private const val READS = 200
private const val TURNS = 15
private const val MILLISECOND = 1_000_000L

/** A program that polls its queue now and then, while it is on. */
private class NowAndThen(
    end: End,
    polls: Int,
) : AutoCloseable {
    @Volatile
    var on = false

    @Volatile
    private var closed = false
    private val thread =
        Thread.ofPlatform().daemon().start {
            val batch = WorkCompletions(1)
            while (!closed) {
                if (on) repeat(polls) { end.cq.poll(batch) }
                LockSupport.parkNanos(MILLISECOND)
            }
        }

    override fun close() {
        closed = true
        thread.join()
    }
}

/** Checks a peer's operations that the target's program takes no part in. */
class OneSidedSpec :
    FunSpec({
        for ((how, polls) in mapOf("once" to 1, "a hundred times" to 100)) {
            test("should answer a read as soon when the target polls $how each millisecond as when it never polls") {
                UdpPair().use { pair ->
                    NowAndThen(pair.far, polls).use { target ->
                        repeat(5) { pair.median(READS, pair.read) }
                        val ratios =
                            List(TURNS) {
                                val never = pair.median(READS, pair.read)
                                target.on = true
                                Thread.sleep(10)
                                val polled = pair.median(READS, pair.read)
                                target.on = false
                                Thread.sleep(10)
                                polled.toDouble() / never
                            }
                        withClue("medians with polls by medians without: $ratios") {
                            ratios.sorted()[TURNS / 2] shouldBeLessThan
                                4.0
                        }
                    }
                }
            }
        }
    })
