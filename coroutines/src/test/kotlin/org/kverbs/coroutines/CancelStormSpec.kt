package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.kverbs.dsl.get
import java.util.concurrent.Executors
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

/** Cancels coroutines of several dispatchers while their writes complete; then no buffer is lent and none waits. */
class CancelStormSpec :
    FunSpec({
        timeout = 120_000

        suspend fun storm(
            ends: TwoEnds,
            on: CoroutineDispatcher,
        ) {
            val remote = ends.server.region.remote()
            val pool = ends.client.pd.bufferPool()

            suspend fun work(random: Random) {
                while (true) {
                    pool.take(64).use { ends.client.qp.write(it.slice(0, 8), to = remote) }
                    if (random.nextInt(8) == 0) ends.client.qp.fetchAndAdd(remote, 1)
                }
            }
            coroutineScope {
                val jobs =
                    List(JOBS) { seed ->
                        launch(on) { work(Random(seed)) }
                    }
                launch(Dispatchers.Default) { jobs.shuffled(Random(1)).forEach(Job::cancel) }
                withTimeout(60.seconds) { jobs.joinAll() }
            }
            withTimeout(20.seconds) { ends.client.qp.write(ends.client.region[0, 8], to = remote) }
            withTimeout(20.seconds) { while (pool.taken != 0) yield() }
        }

        for ((where, dispatcherOf) in listOf<Pair<String, (TwoEnds) -> CoroutineDispatcher>>(
            "the polling thread" to { it.client.dispatcher.coroutineDispatcher },
            "other threads" to { Dispatchers.Default },
            "no certain thread" to { Dispatchers.Unconfined },
        )) {
            test("should end every coroutine that is cancelled at random on $where, and free its buffer") {
                TwoEnds(settings = { maxSendWr(16) }).use { ends -> runBlocking { storm(ends, dispatcherOf(ends)) } }
            }
        }

        test("should end every coroutine that is cancelled at random on virtual threads, and resume it on one") {
            Executors.newVirtualThreadPerTaskExecutor().use { executor ->
                val virtual = executor.asCoroutineDispatcher()
                TwoEnds(settings = { maxSendWr(16) }).use { ends ->
                    storm(ends, virtual)
                    withContext(virtual) {
                        ends.client.qp.write(ends.client.region[0, 8], to = ends.server.region.remote())
                        Thread.currentThread().isVirtual shouldBe true
                    }
                }
            }
        }

        test("should resume a coroutine of the polling thread on it, and one of another dispatcher there") {
            TwoEnds().use { ends ->
                suspend fun write() = ends.client.qp.write(ends.client.region[0, 8], to = ends.server.region.remote())
                withContext(ends.client.dispatcher.coroutineDispatcher) {
                    val polling = Thread.currentThread()
                    repeat(1000) {
                        write()
                        Thread.currentThread() shouldBe polling
                        withContext(Dispatchers.Default) {
                            write()
                            (Thread.currentThread() === polling) shouldBe false
                        }
                    }
                }
            }
        }
    }) {
    private companion object {
        const val JOBS = 300
    }
}
