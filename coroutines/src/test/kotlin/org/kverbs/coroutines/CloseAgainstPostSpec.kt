package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.dsl.write
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.seconds

/**
 * Closes a queue pair while coroutines post to it, some of them on the polling thread, which enters the lock by an
 * ordinary store when it has posted alone for a while.
 */
class CloseAgainstPostSpec :
    FunSpec({
        timeout = 120_000

        suspend fun endless(
            ends: TwoEnds,
            pool: BufferPool,
            begun: AtomicInteger,
        ) {
            val remote = ends.server.region.remote()
            shouldThrow<IllegalStateException> {
                while (true) {
                    pool.take(64).use { buffer ->
                        ends.client.qp.write(buffer.slice(0, 8), to = remote)
                        begun.incrementAndGet()
                        ends.client.qp.fetchAndAdd(remote, 1)
                        ends.client.qp.batch { repeat(2) { write(buffer.slice(0, 8), to = remote) } }
                    }
                }
            }
        }

        suspend fun closeAgainst(on: CoroutineDispatcher) {
            repeat(ROUNDS) { round ->
                TwoEnds(settings = { maxSendWr(4) }).use { ends ->
                    val pool = ends.client.pd.bufferPool()
                    val begun = AtomicInteger()
                    coroutineScope {
                        val jobs =
                            List(4) { launch(on) { endless(ends, pool, begun) } } +
                                List(2) {
                                    launch(ends.client.dispatcher.coroutineDispatcher) {
                                        withContext(NonCancellable) { endless(ends, pool, begun) }
                                    }
                                }
                        withTimeout(30.seconds) {
                            while (begun.get() < 100 * round) Thread.onSpinWait()
                            launch(Dispatchers.IO) { ends.client.qp.close() }
                            jobs.joinAll()
                        }
                    }
                    pool.taken shouldBe 0
                }
            }
        }

        for ((where, on) in listOf("Default" to Dispatchers.Default, "Unconfined" to Dispatchers.Unconfined)) {
            test("should end each call, and lend no buffer any more, when a close meets posts on $where") {
                runBlocking(Dispatchers.IO) { closeAgainst(on) }
            }
        }

        test("should end each call, and lend no buffer any more, when a close meets posts on virtual threads") {
            Executors.newVirtualThreadPerTaskExecutor().use { executor ->
                runBlocking(Dispatchers.IO) { closeAgainst(executor.asCoroutineDispatcher()) }
            }
        }

        test("should serve virtual threads that block in writes beside the polling thread") {
            TwoEnds(settings = { maxSendWr(4) }).use { ends ->
                val remote = ends.server.region.remote()
                val local = ends.client.text("words")
                Executors.newVirtualThreadPerTaskExecutor().use { executor ->
                    val calls =
                        List(50) {
                            executor.submit { runBlocking { repeat(20) { ends.client.qp.write(local, to = remote) } } }
                        }
                    withContext(ends.client.dispatcher.coroutineDispatcher) {
                        repeat(2000) { ends.client.qp.write(local, to = remote) }
                    }
                    calls.forEach { it.get() }
                }
                ends.client.qp.stats.pending shouldBe 0
            }
        }
    }) {
    private companion object {
        const val ROUNDS = 20
    }
}
