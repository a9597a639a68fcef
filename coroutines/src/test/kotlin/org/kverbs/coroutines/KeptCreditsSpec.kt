package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.kverbs.dsl.get
import org.kverbs.dsl.write
import kotlin.time.Duration.Companion.seconds

private suspend fun TwoEnds.writeOne() = client.qp.write(client.region[0, 8], to = server.region.remote())

/** Tests the free entries of a send queue that the polling thread keeps for its own coroutines until its round ends. */
class KeptCreditsSpec :
    FunSpec({
        timeout = 60_000

        fun taken(capacity: Int) = Credits(capacity).also { it.tryAcquire(capacity) shouldBe true }

        test("should keep credits for the polling thread, and release them at the end of the round") {
            val credits = taken(4)
            val kept = KeptCredits(credits)
            kept.tryTake() shouldBe false
            kept.keep(2) shouldBe true
            kept.keep(1) shouldBe false // the round's end is announced already
            kept.count shouldBe 3
            credits.available shouldBe 0
            kept.tryTake() shouldBe true
            kept.endRound()
            kept.count shouldBe 0
            credits.available shouldBe 2
            kept.keep(1) shouldBe true
        }

        test("should release credits at once while a caller waits, and take none before it") {
            coroutineScope {
                val credits = taken(4)
                val kept = KeptCredits(credits)
                kept.keep(1)
                val waiter = launch(start = CoroutineStart.UNDISPATCHED) { credits.acquire(3) }
                kept.tryTake() shouldBe false
                credits.available shouldBe 1
                kept.keep(1)
                credits.available shouldBe 2
                waiter.isCompleted shouldBe false
                kept.keep(1)
                waiter.join()
                credits.available shouldBe 0
                kept.count shouldBe 0
            }
        }

        test("should give an entry to a caller of another thread while coroutines of the polling thread take turns") {
            TwoEnds(settings = { maxSendWr(1) }, dispatcher = { callerPolls() }).use { ends ->
                ends.client.dispatcher.run {
                    val endless = List(2) { launch { while (true) ends.writeOne() } }
                    withTimeout(30.seconds) { withContext(Dispatchers.Default) { repeat(100) { ends.writeOne() } } }
                    endless.forEach { it.cancelAndJoin() }
                }
                ends.client.qp.stats.pending shouldBe 0
            }
        }

        for (on in listOf("Unconfined" to Dispatchers.Unconfined, "Default" to Dispatchers.Default)) {
            test("should give back every entry after callers on ${on.first} were cancelled among those that write") {
                TwoEnds(settings = { maxSendWr(2) }, dispatcher = { callerPolls() }).use { ends ->
                    ends.client.dispatcher.run {
                        repeat(20) {
                            val jobs = List(8) { launch { while (true) ends.writeOne() } }
                            val others = List(8) { launch(on.second) { while (true) ends.writeOne() } }
                            repeat(5) { yield() }
                            (jobs + others).shuffled().forEach(Job::cancel)
                            (jobs + others).forEach { it.join() }
                        }
                        withTimeout(30.seconds) { ends.writeOne() }
                    }
                    ends.client.qp.stats.pending shouldBe 0
                }
            }
        }

        test("should count an entry as free as soon as its request has completed, also before the round ends") {
            TwoEnds(settings = { maxSendWr(4) }, dispatcher = { callerPolls() }).use { ends ->
                ends.client.dispatcher.run {
                    ends.writeOne()
                    ends.client.qp.stats.pending shouldBe 0
                    withContext(NonCancellable) { ends.writeOne() }
                    ends.client.qp.stats.pending shouldBe 0
                }
            }
        }

        test("should leave no entry with a thread that polls no more") {
            TwoEnds(settings = { maxSendWr(2) }, dispatcher = { callerPolls() }).use { ends ->
                ends.client.dispatcher.run { repeat(5) { ends.writeOne() } }
                coroutineScope {
                    // Posted at once, although nobody polls for its completion.
                    val other = launch(Dispatchers.Default, CoroutineStart.UNDISPATCHED) { ends.writeOne() }
                    ends.client.qp.stats.waiting shouldBe 0
                    ends.client.qp.stats.pending shouldBe 1
                    ends.client.dispatcher.run { other.join() }
                }
            }
        }

        test("should serve lists and atomics that need all entries after writes that kept some") {
            TwoEnds(settings = { maxSendWr(4) }, dispatcher = { callerPolls() }).use { ends ->
                val remote = ends.server.region.remote()
                ends.client.dispatcher.run {
                    repeat(300) {
                        ends.writeOne()
                        ends.client.qp.fetchAndAdd(remote, 1)
                        ends.client.qp.batch { repeat(4) { write(ends.client.region[0, 8], to = remote, offset = 8) } }
                    }
                }
                ends.client.qp.stats.pending shouldBe 0
            }
        }
    })
