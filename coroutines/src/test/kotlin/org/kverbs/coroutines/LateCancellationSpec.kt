package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlin.coroutines.CoroutineContext

/** Runs coroutines on demand, so that a test can cancel one after it was resumed and before it runs. */
class LateDispatcher : CoroutineDispatcher() {
    private val tasks = ArrayDeque<Runnable>()

    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ) {
        tasks.addLast(block)
    }

    fun runAll() {
        while (tasks.isNotEmpty()) tasks.removeFirst().run()
    }
}

/** Tests a message that was given to a receive whose coroutine is cancelled before it runs. */
class LateCancellationSpec :
    FunSpec({
        timeout = 60_000

        fun handedOver(then: suspend (ends: TwoEnds, pool: BufferPool, cancel: () -> Unit) -> Unit) {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val late = LateDispatcher()
                val pool = ends.server.pd.bufferPool()
                runBlocking {
                    val receive =
                        launch(late, CoroutineStart.UNDISPATCHED) { pool.take(256).use { ends.server.qp.receive(it) } }
                    val send =
                        launch(start = CoroutineStart.UNDISPATCHED) { ends.client.qp.send(ends.client.text("word")) }
                    for (end in listOf(ends.server, ends.client)) while (end.dispatcher.poll() == 0) Thread.onSpinWait()
                    send.join()
                    then(ends, pool) {
                        receive.cancel()
                        late.runAll()
                    }
                    receive.join()
                }
            }
        }

        test("should keep the message of a late cancelled receive for the next one, and release its buffer") {
            handedOver { ends, pool, cancel ->
                cancel()
                pool.taken shouldBe 0
                pool.take(256).use { next ->
                    ends.server.qp.receive(next).length shouldBe 4
                    next.readByteArray(0, 4).decodeToString() shouldBe "word"
                }
                pool.taken shouldBe 0
            }
        }

        test("should keep nothing of a late cancelled receive if the queue pair was closed meanwhile") {
            handedOver { ends, pool, cancel ->
                ends.server.qp.close()
                cancel()
                pool.taken shouldBe 0
            }
        }
    })
