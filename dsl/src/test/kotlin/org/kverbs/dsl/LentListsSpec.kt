package org.kverbs.dsl

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePair
import org.kverbs.SendRequests
import org.kverbs.WorkRequestException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CyclicBarrier
import kotlin.concurrent.thread

private class Mistake : RuntimeException()

private fun onQueuePair(block: (QueuePair) -> Unit) =
    onNullDevice { context ->
        val cq = context.completionQueue { }
        block(context.protectionDomain().qp(UD) { cq(cq) }.queuePair)
    }

/** The lists that this many posts, one inside the other, are lent: all that are spare, and more. */
private fun lentAtOnce(
    qp: QueuePair,
    count: Int = 8,
): List<SendRequests> {
    val lists = mutableListOf<SendRequests>()

    fun next() {
        if (lists.size < count) {
            qp.post {
                lists += requests
                next()
            }
        }
    }
    next()
    return lists
}

internal class LentListsSpec :
    FunSpec({
        // Of a UD queue pair, whose requests need an address.
        val endings =
            mapOf<String, (QueuePair) -> Unit>(
                "that posted nothing" to { it.post { } },
                "whose block threw" to { qp -> shouldThrow<Mistake> { qp.post { throw Mistake() } } },
                "that was refused" to { qp -> shouldThrow<WorkRequestException> { qp.post { sendEmpty() } } },
                "with a refused post inside" to { qp ->
                    shouldThrow<WorkRequestException> { qp.post { qp.post { sendEmpty() } } }
                },
            )

        endings.forEach { (name, end) ->
            test("should lend no list to two posts at a time after a post $name") {
                onQueuePair { qp ->
                    repeat(3) { end(qp) }
                    val lists = lentAtOnce(qp)
                    lists.toSet() shouldHaveSize lists.size
                    lists.sumOf { it.size() } shouldBe 0
                }
            }
        }

        test("should lend no list to two threads at a time") {
            onQueuePair { qp ->
                val inUse = ConcurrentHashMap.newKeySet<SendRequests>()
                val twice = ConcurrentHashMap.newKeySet<SendRequests>()
                val start = CyclicBarrier(THREADS)
                List(THREADS) {
                    thread {
                        start.await()
                        repeat(ROUNDS) { round ->
                            runCatching {
                                qp.post {
                                    if (!inUse.add(requests)) twice += requests
                                    Thread.onSpinWait()
                                    inUse -= requests
                                    if (round % 2 == 0) throw Mistake()
                                }
                            }
                        }
                    }
                }.forEach { it.join() }
                twice.shouldBeEmpty()
            }
        }
    })

private const val THREADS = 8
private const val ROUNDS = 5_000
