package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.kverbs.dsl.RC
import org.kverbs.dsl.get
import kotlin.time.Duration.Companion.seconds

/** Tests which of several receivers gets a message when some of them were cancelled. */
class ReceiverOrderSpec :
    FunSpec({
        timeout = 60_000

        /** Receives into memory of its own and returns the text in it. */
        fun CoroutineScope.receiving(
            ends: TwoEnds,
            place: Int,
        ): Deferred<String> =
            async(start = CoroutineStart.UNDISPATCHED) {
                val received = ends.server.qp.receive(ends.server.region[place * 64L, 64])
                ends.server.textAt(place * 64L, received.length)
            }

        suspend fun TwoEnds.send(vararg words: String) = words.forEach { client.qp.send(client.text(it)) }

        suspend fun Deferred<String>.soon() = withTimeout(20.seconds) { await() }

        test("should wake the receiver that waits when the one before it was cancelled") {
            TwoEnds().use { ends ->
                coroutineScope {
                    val (first, second) = List(2) { receiving(ends, it) }
                    first.cancelAndJoin()
                    ends.send("only")
                    second.soon() shouldBe "only"
                }
            }
        }

        test("should keep the order of messages and of receivers whichever of them are cancelled") {
            TwoEnds().use { ends ->
                coroutineScope {
                    val receivers = List(8) { receiving(ends, it) }
                    for (gone in listOf(0, 1, 3, 6)) receivers[gone].cancelAndJoin()
                    val later = List(4) { receiving(ends, 8 + it) }
                    ends.send("a", "b", "c", "d", "e", "f", "g", "h")
                    (listOf(2, 4, 5, 7).map { receivers[it].soon() } + later.map { it.soon() }) shouldContainExactly
                        listOf("a", "b", "c", "d", "e", "f", "g", "h")
                }
            }
        }

        test("should not write into the memory of a receiver that has its message") {
            TwoEnds().use { ends ->
                coroutineScope {
                    val (first, second) = List(2) { receiving(ends, it) }
                    first.cancelAndJoin()
                    ends.send("mine", "next")
                    second.soon() shouldBe "mine"
                    launch { ends.send("last") }
                    List(2) { receiving(ends, 2 + it).soon() } shouldContainExactly listOf("next", "last")
                    ends.server.textAt(64, 4) shouldBe "mine"
                }
            }
        }

        test("should not write into the memory of a cancelled receiver") {
            TwoEnds().use { ends ->
                ends.server.pd.bufferPool().use { pool ->
                    coroutineScope {
                        val pooled =
                            launch(start = CoroutineStart.UNDISPATCHED) {
                                pool.take(64).use { ends.server.qp.receive(it) }
                            }
                        pool.taken shouldBe 1
                        pooled.cancelAndJoin()
                        pooled.isCancelled shouldBe true
                        pool.taken shouldBe 0
                        val gone = receiving(ends, 0)
                        gone.cancelAndJoin()
                        ends.server.text("my own")
                        ends.send("a word")
                        receiving(ends, 1).soon() shouldBe "a word"
                        ends.server.textAt(0, 6) shouldBe "my own"
                    }
                }
            }
        }

        test("should serve receivers that wait for a queue entry when the receivers with entries are cancelled") {
            TwoEnds(settings = { maxRecvWr(2) }).use { ends ->
                coroutineScope {
                    val receivers = List(6) { receiving(ends, it) }
                    for (gone in listOf(0, 1, 3)) receivers[gone].cancelAndJoin()
                    ends.send("a")
                    receivers[2].soon() shouldBe "a"
                    val late = receiving(ends, 6)
                    ends.send("b", "c", "d")
                    listOf(receivers[4], receivers[5], late).map { it.soon() } shouldContainExactly
                        listOf("b", "c", "d")
                }
            }
        }

        test("should give the message of a cancelled posted receive to the receiver that waits") {
            TwoEnds().use { ends ->
                coroutineScope {
                    val (gone, posted) = List(2) { ends.server.qp.postReceive(ends.server.region[it * 64L, 64]) }
                    val receiver = receiving(ends, 2)
                    gone.cancel()
                    ends.send("one", "four")
                    receiver.soon() shouldBe "one"
                    posted.await().length shouldBe 4
                    ends.server.textAt(64, 4) shouldBe "four"
                }
            }
        }

        test("should wake the oldest worker of a shared queue when another was cancelled") {
            TwoEnds().use { ends ->
                ends.server.dispatcher.srq(ends.server.pd) { maxWr(8) }.use { srq ->
                    val client = ends.client.dispatcher.qp(ends.client.pd, RC)
                    val server = ends.server.dispatcher.qp(ends.server.pd, RC, srq)
                    client.connect(server.endpoint())
                    server.connect(client.endpoint())
                    coroutineScope {
                        val workers =
                            List(3) {
                                async(
                                    start = CoroutineStart.UNDISPATCHED,
                                ) { srq.receive(ends.server.region[it * 64L, 64]).length }
                            }
                        workers[0].cancelAndJoin()
                        client.send(ends.client.text("1"))
                        client.send(ends.client.text("22"))
                        withTimeout(20.seconds) { workers[1].await() } shouldBe 1
                        withTimeout(20.seconds) { workers[2].await() } shouldBe 2
                    }
                    server.close()
                }
            }
        }

        test("should give the message of a late cancelled receiver to the receiver that waits") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val late = LateDispatcher()
                runBlocking {
                    val gone =
                        async(late, CoroutineStart.UNDISPATCHED) { ends.server.qp.receive(ends.server.region[0, 64]) }
                    val next = async(Dispatchers.Unconfined) { ends.server.qp.receive(ends.server.region[64, 64]) }
                    val send =
                        async(start = CoroutineStart.UNDISPATCHED) { ends.client.qp.send(ends.client.text("word")) }
                    for (end in listOf(ends.server, ends.client)) while (end.dispatcher.poll() == 0) Thread.onSpinWait()
                    send.await()
                    next.isCompleted shouldBe false
                    gone.cancel()
                    late.runAll()
                    next.isCompleted shouldBe true
                    next.await().length shouldBe 4
                    ends.server.textAt(64, 4) shouldBe "word"
                }
            }
        }
    })
