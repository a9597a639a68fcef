package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.completeWith
import org.kverbs.attributes.Feature
import org.kverbs.dsl.get
import org.kverbs.dsl.remote
import org.kverbs.dsl.send
import kotlin.coroutines.Continuation
import kotlin.coroutines.startCoroutine

/** Tests that a call which throws at once leaves nothing at the job of its coroutine, which can go on for long. */
class RefusedCallSpec :
    FunSpec({
        timeout = 60_000

        val calls: Map<String, suspend TwoEnds.() -> Unit> =
            mapOf(
                "a send" to { client.qp.send(client.region[0, 8]) },
                "an atomic" to { client.qp.fetchAndAdd(server.region.remote(), 1) },
                "an atomic write" to { client.qp.atomicWrite(1, server.region.remote()) },
                "a flush" to { client.qp.flushRegion(server.region.remote().rkey()) },
                "a batch" to { client.qp.batch { repeat(2) { send(client.region[0, 8]) } } },
                "a receive" to { client.qp.receive(client.region[0, 8]) },
            )

        for ((what, call) in calls) {
            for (isPolling in listOf(true, false)) {
                val where = if (isPolling) "on the polling thread" else "on another thread"
                test("should leave nothing at the job of a coroutine whose queue refuses $what $where") {
                    TwoEnds(settings = { extended(Feature.ATOMIC_WRITE, Feature.FLUSH) }).use { ends ->
                        val job = CountingJob()
                        val end = CompletableDeferred<Unit>()
                        ends.client.qp.fetchAndAdd(ends.server.region.remote(), 1)
                        ends.client.qp.stop(IllegalStateException("planted"))
                        val dispatcher = if (isPolling) ends.client.dispatcher.coroutineDispatcher else Dispatchers.IO
                        val refused =
                            suspend {
                                var refused = 0
                                repeat(CALLS) { runCatching { ends.call() }.onFailure { refused++ } }
                                check(refused == CALLS)
                            }
                        refused.startCoroutine(Continuation(dispatcher + job) { end.completeWith(it) })
                        end.await()
                        job.handlers.get() shouldBe 0
                    }
                }
            }
        }
    }) {
    private companion object {
        const val CALLS = 100
    }
}
