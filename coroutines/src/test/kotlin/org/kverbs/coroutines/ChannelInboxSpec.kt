package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.ClosedReceiveChannelException
import kotlinx.coroutines.channels.consumeEach
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.RemoteMemory
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random

private fun ChannelInbox.add(text: String) = add(ChannelArrival(text.encodeToByteArray()))

private fun inbox(gone: () -> Unit = {}) = ChannelInbox(isAhead = true, {}) { _, _ -> gone() }

/** A large message of the peer. */
internal fun offered(id: Int = 0): ChannelArrival = ChannelArrival(RemoteMemory(0, 3, 0), id, 3)

private fun ChannelInbox.fetched(
    arrival: ChannelArrival,
    text: String,
) {
    claim(arrival) shouldBe true
    complete(arrival, text.encodeToByteArray()) shouldBe true
}

/** Tests [IncomingMessages] on an inbox that the test fills. */
@OptIn(ExperimentalCoroutinesApi::class, DelicateCoroutinesApi::class)
class ChannelInboxSpec :
    FunSpec({
        timeout = 60_000

        test(
            "should give each message to the receiver that has waited longest and is not cancelled",
        ) {
            val inbox = inbox()
            val incoming = IncomingMessages(inbox)
            coroutineScope {
                val waiting =
                    List(4) { async(start = CoroutineStart.UNDISPATCHED) { incoming.receive().decodeToString() } }
                waiting[0].cancel()
                inbox.add("a")
                waiting[1].cancel() // woken, and cancelled before it runs
                inbox.add("b")
                inbox.add("c")
                waiting[2].await() shouldBe "a"
                waiting[3].await() shouldBe "b"
                incoming.receive().decodeToString() shouldBe "c"
            }
        }

        test("should hold back messages behind one that is still being read") {
            val inbox = inbox()
            val incoming = IncomingMessages(inbox)
            val large = offered()
            inbox.add(large)
            inbox.add("small")
            incoming.tryReceive().isFailure shouldBe true
            incoming.isEmpty shouldBe true
            inbox.fetched(large, "abc")
            incoming.tryReceive().getOrThrow().decodeToString() shouldBe "abc"
            incoming.tryReceive().getOrThrow().decodeToString() shouldBe "small"
        }

        test("should work in select like any channel, and lose no message when another clause is selected") {
            val inbox = inbox()
            val incoming = IncomingMessages(inbox)
            val other = CompletableDeferred<String>()

            suspend fun either() =
                select {
                    other.onAwait { it }
                    incoming.onReceive { it.decodeToString() }
                }
            inbox.add("there")
            either() shouldBe "there"
            coroutineScope {
                val waiting = async(start = CoroutineStart.UNDISPATCHED) { either() }
                inbox.add("later")
                waiting.await() shouldBe "later"
                val served = async(start = CoroutineStart.UNDISPATCHED) { either() }
                other.complete("other")
                inbox.add("kept")
                served.await() shouldBe "other"
                incoming.receive().decodeToString() shouldBe "kept"
                val cancelled = async(start = CoroutineStart.UNDISPATCHED) { select { incoming.onReceive { it } } }
                inbox.add("kept too")
                cancelled.cancel() // selected, and cancelled before it runs
                incoming.receive().decodeToString() shouldBe "kept too"
            }
        }

        test("should distinguish an orderly end from a failure in every receive function") {
            val ended = inbox().also { it.finish() }
            val failed = inbox().also { it.fail(ChannelClosedException("gone")) }
            IncomingMessages(ended).run {
                isClosedForReceive shouldBe true
                shouldThrow<ClosedReceiveChannelException> { receive() }
                receiveCatching().exceptionOrNull() shouldBe null
                receiveCatching().isClosed shouldBe true
                tryReceive().isClosed shouldBe true
                consumeEach { error("nothing came") }
                select { onReceiveCatching { it.isClosed } } shouldBe true
                shouldThrow<ClosedReceiveChannelException> { select { onReceive { } } }
            }
            IncomingMessages(failed).run {
                shouldThrow<ChannelClosedException> { receive() }
                receiveCatching().exceptionOrNull()?.message shouldBe "gone"
                tryReceive().exceptionOrNull()?.message shouldBe "gone"
                shouldThrow<ChannelClosedException> { consumeEach { } }
                shouldThrow<ChannelClosedException> { select { onReceive { } } }
            }
        }

        test("should fetch a message that was put back when it is the first one, and not with all others at once") {
            val begun = ArrayList<Int>()
            val inbox = ChannelInbox(isAhead = true, { begun.add(it.id) }) { _, _ -> }
            val given =
                coroutineScope {
                    val readers = List(3) { async(start = CoroutineStart.UNDISPATCHED) { inbox.take(reads = true) } }
                    repeat(3) { inbox.add(offered(it)) }
                    readers.awaitAll().map { checkNotNull(it) }
                }
            given.forEach(inbox::putBack)
            begun shouldBe listOf(0)
            inbox.fetched(given[0], "0")
            begun shouldBe listOf(0)
            IncomingMessages(inbox).tryReceive().getOrThrow().decodeToString() shouldBe "0"
            begun shouldBe listOf(0, 1)
        }

        test("should give no message after the failure when an earlier one was lost with its receiver") {
            val inbox = inbox()
            inbox.add(offered())
            val given = checkNotNull(inbox.take(reads = true))
            inbox.add("later")
            inbox.fail(ChannelClosedException("gone"))
            inbox.putBack(given)
            inbox.take() shouldBe null
            inbox.cause?.message shouldBe "gone"
        }

        test("should release messages that are dropped, now and later") {
            var gone = 0
            val inbox = inbox { gone++ }
            inbox.add("a")
            IncomingMessages(inbox).cancel()
            inbox.add("b")
            gone shouldBe 2
            inbox.finish()
            inbox.end.await()
        }

        test("should not report an orderly end to a receiver after messages were dropped") {
            for (comes in listOf("before", "after", "never")) {
                val inbox = inbox()
                val incoming = IncomingMessages(inbox)
                coroutineScope {
                    val receivers =
                        List(2) { async(start = CoroutineStart.UNDISPATCHED) { incoming.receiveCatching() } }
                    if (comes == "before") inbox.add("dropped") // the first receiver is woken and has not taken it
                    inbox.drop(null)
                    if (comes == "after") inbox.add("dropped")
                    inbox.finish()
                    for (end in receivers.awaitAll()) {
                        withClue(
                            comes,
                        ) { (end.exceptionOrNull() is ChannelClosedException) shouldBe (comes != "never") }
                        end.isClosed shouldBe true
                    }
                }
            }
        }

        test("should not lose, repeat or reorder a message when receivers and selects are cancelled all the time") {
            for (seed in 1..50) {
                val random = Random(seed)
                val gone = AtomicInteger()
                val inbox = inbox { gone.incrementAndGet() }
                val incoming = IncomingMessages(inbox)
                val received = ArrayList<Int>()
                withContext(Dispatchers.Default) {
                    val feeder =
                        launch {
                            val pace = Random(-seed)
                            for (i in 0 until 500) {
                                if (pace.nextInt(3) == 0) {
                                    val late = offered()
                                    inbox.add(late)
                                    yield()
                                    inbox.fetched(late, "$i")
                                } else {
                                    inbox.add("$i")
                                }
                                if (pace.nextInt(5) == 0) yield()
                            }
                            inbox.finish()
                        }
                    while (!incoming.isClosedForReceive) {
                        val receivers =
                            List(random.nextInt(1, 4)) {
                                launch {
                                    when (random.nextInt(3)) {
                                        0 -> incoming.tryReceive().getOrNull()
                                        1 -> incoming.receiveCatching().getOrNull()
                                        else -> select { incoming.onReceiveCatching { it.getOrNull() } }
                                    }?.let { synchronized(received) { received.add(it.decodeToString().toInt()) } }
                                }
                            }
                        yield()
                        receivers.forEach { if (random.nextBoolean()) it.cancel() }
                        receivers.forEach { it.join() }
                    }
                    feeder.join()
                }
                received.sorted() shouldBe List(500) { it }
                gone.get() shouldBe 500
            }
        }
    })
