package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletions
import org.kverbs.attributes.QueuePairType
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice

/** The completions of two writes of which the peer refuses the first. */
private fun refusedAndFlushed(): List<WorkCompletion> =
    openDevice("embedded0").use { device ->
        val cq = device.completionQueue(16)
        val pd = device.protectionDomain()
        val (from, to) = List(2) { pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq)) }
        from.connect(to.endpoint())
        to.connect(from.endpoint())
        val gone = pd.memoryRegion(8) { access() }.use { it.remote() }
        val local = pd.memoryRegion(8) { access() }.slice()
        val writes = SendRequests()
        repeat(2) { writes.write(it.toLong(), gone).from(local).signaled() }
        from.post(writes)
        val batch = WorkCompletions(1)
        val found = ArrayList<WorkCompletion>()
        while (found.size < 2) if (cq.poll(batch) > 0) found.add(batch[0].copy())
        found
    }

class SendSlotsSpec :
    FunSpec({
        timeout = 60_000

        test(
            "should give flushed requests the first failure as cause, even if a close has ended the wait for that " +
                "request",
        ) {
            val (refused, flushed) = refusedAndFlushed()
            refused.status() shouldBe WorkCompletionStatus.REM_ACCESS_ERR
            flushed.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
            val slots = SendSlots(2, Failures())
            coroutineScope {
                fun post() =
                    async(start = CoroutineStart.UNDISPATCHED) {
                        runCatching {
                            suspendCancellableCoroutine<Unit> {
                                slots.put(0, it, refused.rawOpcode(), null)
                                slots.advance(1)
                            }
                        }.exceptionOrNull()
                    }
                val closed = IllegalStateException("closed")
                val first = post()
                slots.fail(closed)
                first.await().shouldNotBeNull().message shouldBe "closed"
                val second = post()
                slots.complete(0, refused) {}
                slots.complete(1, flushed) {}
                val failure = second.await().shouldBeInstanceOf<WorkCompletionException>()
                failure.cause.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                    WorkCompletionStatus.REM_ACCESS_ERR
            }
        }

        test("should know a failure although a coroutine that gets its buffer takes further completions meanwhile") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val qp = ends.client.qp
                val here = ends.client.region[0, 8]
                val there = ends.server.region.remote()
                val gone = ends.server.pd.memoryRegion(8) { access() }.use { it.remote() }
                val pool =
                    ends.client.pd.bufferPool {
                        maxBytes(4096)
                        slabSize(4096)
                        minBufferSize(4096)
                        maxBufferSize(4096)
                    }
                coroutineScope {
                    val only = pool.take(8)
                    // Neither thread polls: both requests wait for their completions.
                    val refused =
                        launch(start = CoroutineStart.UNDISPATCHED) { only.use { qp.write(it.slice(), to = gone) } }
                    val flushed =
                        async(start = CoroutineStart.UNDISPATCHED) {
                            runCatching { qp.write(here, to = there) }.exceptionOrNull()
                        }
                    refused.cancelAndJoin()
                    val next =
                        launch(ends.client.dispatcher.coroutineDispatcher) {
                            pool.take(8).use { runCatching { qp.write(here, to = there) } }
                        }
                    ends.client.dispatcher.run { next.join() }
                    val failure = flushed.await().shouldBeInstanceOf<WorkCompletionException>()
                    failure.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
                    failure.cause.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                        WorkCompletionStatus.REM_ACCESS_ERR
                }
            }
        }
    })
