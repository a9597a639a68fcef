package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeLessThanOrEqual
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.QueuePairType
import java.util.concurrent.Callable
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.locks.LockSupport

/** More threads than [org.kverbs.embedded.internal.engine.Sharers] has places, and than there are processors. */
private const val MANY = 20
private const val MESSAGES = 30_000L

private fun EmbeddedFabric.direct(): Long {
    engine().enter()
    try {
        var sum = 0L
        for (device in devices()) hca(device).queuePairs.forEach { sum += it.direct.made() }
        return sum
    } finally {
        engine().leave()
    }
}

private fun EmbeddedFabric.sent(): Long =
    devices().sumOf {
        it.counters().getValue("sent_bytes")
    }

/** Lets several connections exchange messages, each with two threads, while another thread reads the counters. */
private fun crowd(
    connections: Int,
    devices: Int,
    threads: ExecutorService,
    pause: () -> Unit,
) {
    EmbeddedFabric.realTime(1).use { fabric ->
        val all = List(devices) { fabric.addDevice() }
        val ends =
            List(connections) { i ->
                End(all[i % devices], QueuePairType.RC, CROWD_BYTES) to
                    End(all[(i + 1) % devices], QueuePairType.RC, CROWD_BYTES)
            }
        val links =
            ends.mapIndexed { i, (a, b) ->
                a.qp.connect(b.qp.endpoint())
                b.qp.connect(a.qp.endpoint())
                CrowdLink(a, b, i + 1, MESSAGES / connections, pause).apply { prepare() }
            }
        val over = AtomicBoolean()
        val counting =
            threads.submit(
                Callable {
                    var last = 0L
                    while (!over.get()) {
                        val now = fabric.sent()
                        last shouldBeLessThanOrEqual now
                        last = now
                        Thread.sleep(1)
                    }
                },
            )
        try {
            val work = links.flatMap { listOf(threads.submit { it.send() }, threads.submit { it.receive() }) }
            work.forEach { it.get(5, TimeUnit.MINUTES) }
        } finally {
            over.set(true)
        }
        counting.get(1, TimeUnit.MINUTES)
        withClue("bytes that the counters tell of") { fabric.sent() shouldBe links.sumOf { it.allBytes() } }
        withClue("direct requests and receives") { fabric.direct() shouldBeGreaterThan MESSAGES / 10 }
        ends.forEach { (a, b) ->
            a.close()
            b.close()
        }
    }
}

/**
 * Lets other virtual threads run. Not by Thread.yield: virtual threads that yield again and again can keep those from
 * running that the JDK has put into its queue of submissions (JDK 25, seen without kverbs, too).
 */
private fun rest() = LockSupport.parkNanos(1)

/**
 * Checks direct messages of many threads beside the usual path: order, content at the time of the completion or of a
 * flag in memory, and counts.
 */
class DirectCrowdSpec :
    FunSpec({
        for ((connections, devices) in listOf(1 to 2, 2 to 1, MANY to 1, MANY to 3)) {
            val what = "$connections connections among $devices devices"
            test("should deliver all in order and count all bytes for $what") {
                Executors.newCachedThreadPool().use { crowd(connections, devices, it, Thread::yield) }
            }

            test("should do so for $what of virtual threads") {
                Executors.newVirtualThreadPerTaskExecutor().use { crowd(connections, devices, it, ::rest) }
            }
        }
    })
