package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.asContextElement
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.completeWith
import kotlinx.coroutines.yield
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.get
import kotlin.coroutines.Continuation
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine

private typealias Pair = kotlin.Pair<AsyncQueuePair<RcVerbs>, AsyncQueuePair<RcVerbs>>

/** Tests coroutines that the polling thread resumes by itself with their messages, without their dispatcher. */
class ResumedHereSpec :
    FunSpec({
        timeout = 60_000

        /** Runs a coroutine on the thread that polls for the server. */
        fun onPollingThread(block: suspend (TwoEnds) -> Unit) =
            TwoEnds(dispatcher = { callerPolls() }).use { ends -> ends.server.dispatcher.run { block(ends) } }

        /** Connects two queue pairs, whose completions the running thread polls. */
        fun TwoEnds.pair(): Pair {
            val (one, other) = List(2) { server.dispatcher.qp(server.pd, RC) }
            one.connect(other.endpoint())
            other.connect(one.endpoint())
            return one to other
        }

        /**
         * Starts a coroutine whose context has no elements for threads, as a program's coroutines have none: with
         * assertions kotlinx.coroutines adds one for debugging.
         */
        fun TwoEnds.start(
            extra: CoroutineContext = EmptyCoroutineContext,
            block: suspend () -> Unit,
        ) = CompletableDeferred<Unit>().also { end ->
            val context = server.dispatcher.coroutineDispatcher + Job() + extra
            block.startCoroutine(Continuation(context) { end.completeWith(it) })
        }

        fun TwoEnds.post(pair: Pair) = pair.second.postReceive(server.region[64, 64])

        suspend fun TwoEnds.send(pair: Pair) = pair.first.send(server.region[0, 8])

        fun frames(ofClass: String) = Throwable().stackTrace.map { it.className }.filter { ofClass in it }

        test("should resume a coroutine without the event loop of kotlinx.coroutines") {
            onPollingThread { ends ->
                val pair = ends.pair()
                val done =
                    ends.start {
                        ends.post(pair).await().length shouldBe 8
                        frames("PollLoop").shouldNotBeEmpty()
                        frames("DispatchedContinuation").shouldBeEmpty()
                    }
                ends.send(pair)
                done.await()
            }
        }

        test("should set the elements of a coroutine's context on the thread, and put them back") {
            onPollingThread { ends ->
                val pair = ends.pair()
                val value = ThreadLocal.withInitial { "thread's" }
                val done =
                    ends.start(value.asContextElement("coroutine's")) {
                        ends.post(pair).await()
                        value.get() shouldBe "coroutine's"
                    }
                yield()
                ends.send(pair)
                done.await()
                value.get() shouldBe "thread's"
            }
        }

        test("should run a coroutine whose message another one's look has found when that one has suspended") {
            onPollingThread { ends ->
                val (first, second) = List(2) { ends.pair() }
                val steps = ArrayList<String>()
                val end = CompletableDeferred<Unit>()
                val b =
                    ends.start {
                        ends.post(second).await()
                        steps += "b runs"
                    }
                val a =
                    ends.start {
                        ends.post(first).await()
                        steps += "a runs"
                        ends.send(second)
                        steps += "a has sent"
                        end.await()
                    }
                ends.send(first)
                b.await()
                steps shouldContainExactly listOf("a runs", "a has sent", "b runs")
                end.complete(Unit)
                a.await()
            }
        }

        test("should need no deeper stack for a chain of coroutines, each of which sends the next one's message") {
            onPollingThread { ends ->
                val pairs = List(40) { ends.pair() }
                val depths = ArrayList<Int>()
                val all =
                    pairs.mapIndexed { i, pair ->
                        ends.start {
                            ends.post(pair).await()
                            depths += Throwable().stackTrace.size
                            pairs.getOrNull(i + 1)?.let { ends.send(it) }
                        }
                    }
                ends.send(pairs.first())
                all.awaitAll()
                depths.size shouldBe 40
                (depths.max() - depths.min() < 40) shouldBe true
            }
        }

        test("should go on when a coroutine fails after its message, and resume the others") {
            onPollingThread { ends ->
                val (first, second) = List(2) { ends.pair() }
                val fails =
                    ends.start {
                        ends.post(first).await()
                        ends.send(second)
                        error("planted")
                    }
                val other = ends.start { ends.post(second).await() }
                ends.send(first)
                other.await()
                runCatching { fails.await() }.exceptionOrNull()?.message shouldBe "planted"
            }
        }

        test("should let coroutines of both kinds serve each other's messages") {
            onPollingThread { ends ->
                val (there, back) = List(2) { ends.pair() }
                val answers =
                    ends.start {
                        repeat(1_000) {
                            ends.post(there).await()
                            ends.send(back)
                        }
                    }
                val asks =
                    CoroutineScope(ends.server.dispatcher.coroutineDispatcher).async {
                        repeat(1_000) {
                            val answer = ends.post(back)
                            ends.send(there)
                            answer.await()
                        }
                    }
                asks.await()
                answers.await()
            }
        }
    })
