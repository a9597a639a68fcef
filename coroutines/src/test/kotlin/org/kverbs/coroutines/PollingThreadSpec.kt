package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.kverbs.attributes.AccessFlag
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.get
import org.kverbs.dsl.write
import java.net.InetSocketAddress
import java.util.concurrent.CountDownLatch
import java.util.concurrent.CyclicBarrier
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private class Planted : Error("planted")

/** A coroutine dispatcher that throws in dispatch. */
private object ThrowingDispatcher : CoroutineDispatcher() {
    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ): Unit = throw Planted()
}

private val ANYWHERE = InetSocketAddress("0.0.0.0", 0)

private fun addressOf(listener: RdmaListener) = InetSocketAddress("127.0.0.1", listener.address.port)

/** Tests faults that must not end the threads that poll and take events. */
class PollingThreadSpec :
    FunSpec({
        timeout = 60_000

        val uncaught = LinkedBlockingQueue<Throwable>()
        var before: Thread.UncaughtExceptionHandler? = null

        beforeTest {
            before = Thread.getDefaultUncaughtExceptionHandler()
            uncaught.clear()
            Thread.setDefaultUncaughtExceptionHandler { _, e -> uncaught.add(e) }
        }
        afterTest { Thread.setDefaultUncaughtExceptionHandler(before) }

        suspend fun TwoEnds.stillWork() {
            withTimeout(20.seconds) { client.qp.write(client.text("goes on"), to = server.region.remote()) }
            server.textAt(0, 7) shouldBe "goes on"
        }

        /**
         * Runs [block], whose operation must not complete before its caller waits: the polling thread is busy
         * meanwhile.
         */
        fun CompletionDispatcher.whileHeld(begin: () -> Unit) {
            val isHeld = CountDownLatch(1)
            val hasBegun = CountDownLatch(1)
            coroutineDispatcher.dispatch(EmptyCoroutineContext) {
                isHeld.countDown()
                hasBegun.await()
            }
            isHeld.await()
            begin()
            hasBegun.countDown()
        }

        fun TwoEnds.whileNobodyPolls(begin: () -> Unit) = client.dispatcher.whileHeld(begin)

        fun shouldBeReported() {
            val reported = uncaught.poll(20, SECONDS)
            generateSequence(reported) { it.cause }.any { it is Planted } shouldBe true
        }

        for ((what, wait) in listOf<Pair<String, suspend (TwoEnds) -> Unit>>(
            "write" to { it.client.qp.write(it.client.region[0, 8], to = it.server.region.remote()) },
            "fetchAndAdd" to { it.client.qp.fetchAndAdd(it.server.region.remote(), 1) },
            "batch" to { ends ->
                val local = ends.client.region[0, 8]
                ends.client.qp.batch { repeat(3) { write(local, to = ends.server.region.remote()) } }
            },
            "receive" to { it.client.qp.receive(it.client.region[0, 8]) },
        )) {
            test("should keep polling when the dispatcher of a coroutine that waits in $what throws") {
                TwoEnds(dispatcher = { strategy(WaitStrategy.event()) }).use { ends ->
                    ends.whileNobodyPolls {
                        CoroutineScope(
                            ThrowingDispatcher + Job(),
                        ).launch(start = CoroutineStart.UNDISPATCHED) { wait(ends) }
                    }
                    if (what == "receive") ends.server.qp.send(ends.server.region[0, 8])
                    shouldBeReported()
                    ends.stillWork()
                }
            }
        }

        test(
            "should keep polling when the dispatcher of a coroutine that waits for a queue entry throws, and give " +
                "the entry to the next",
        ) {
            TwoEnds(settings = { maxSendWr(1) }).use { ends ->
                val remote = ends.server.region.remote()
                val scope = CoroutineScope(ThrowingDispatcher + Job())
                ends.whileNobodyPolls {
                    launch(
                        start = CoroutineStart.UNDISPATCHED,
                    ) { ends.client.qp.write(ends.client.region[0, 8], to = remote) }
                    scope.launch(
                        start = CoroutineStart.UNDISPATCHED,
                    ) { ends.client.qp.write(ends.client.region[0, 8], to = remote) }
                }
                shouldBeReported()
                ends.stillWork()
            }
        }

        test("should give the message of a coroutine whose dispatcher throws to the next receiver") {
            TwoEnds().use { ends ->
                CoroutineScope(ThrowingDispatcher + Job()).launch(start = CoroutineStart.UNDISPATCHED) {
                    ends.client.qp.receive(ends.client.region[0, 8])
                }
                val next =
                    async(
                        start = CoroutineStart.UNDISPATCHED,
                    ) { ends.client.qp.receive(ends.client.region[8, 8]).length }
                ends.server.qp.send(ends.server.region[0, 5])
                withTimeout(20.seconds) { next.await() } shouldBe 5
                shouldBeReported()
            }
        }

        test("should end all waits of a closed queue pair although the dispatcher of one waiter throws") {
            TwoEnds().use { ends ->
                val others =
                    coroutineScope {
                        val scope = CoroutineScope(ThrowingDispatcher + Job())
                        scope.launch(
                            start = CoroutineStart.UNDISPATCHED,
                        ) { ends.server.qp.receive(ends.server.region[0, 8]) }
                        val others =
                            List(3) {
                                async(start = CoroutineStart.UNDISPATCHED) {
                                    runCatching { ends.server.qp.receive(ends.server.region[0, 8]) }.exceptionOrNull()
                                }
                            }
                        ends.server.qp.close()
                        withTimeout(20.seconds) { others.awaitAll() }
                    }
                others.forEach { it.shouldBeInstanceOf<IllegalStateException>() }
                shouldBeReported()
            }
        }

        test("should keep polling when the dispatcher of a coroutine that waits for a buffer throws") {
            TwoEnds().use { ends ->
                val pool =
                    ends.client.pd.bufferPool {
                        maxBytes(1.MiB)
                        maxBufferSize(1.MiB)
                    }
                val buffer = pool.take(1.MiB)
                val posted = ends.client.qp.postReceive(buffer)
                buffer.close()
                CoroutineScope(
                    ThrowingDispatcher + Job(),
                ).launch(start = CoroutineStart.UNDISPATCHED) { pool.take(1.KiB) }
                ends.server.qp.send(ends.server.region[0, 8])
                withTimeout(20.seconds) { posted.await() }.length shouldBe 8
                shouldBeReported()
                ends.stillWork()
            }
        }

        test("should give the message of a channel's receiver whose dispatcher throws to the next receiver") {
            TwoChannels().use { ends ->
                val scope = CoroutineScope(ThrowingDispatcher + Job())
                scope.launch(start = CoroutineStart.UNDISPATCHED) { ends.client.receive() }
                scope.launch(start = CoroutineStart.UNDISPATCHED) { select { ends.client.incoming.onReceive { } } }
                val next = async(start = CoroutineStart.UNDISPATCHED) { ends.client.receive().decodeToString() }
                ends.server.send("hello".encodeToByteArray())
                withTimeout(20.seconds) { next.await() } shouldBe "hello"
                repeat(2) { shouldBeReported() }
                ends.client.isOpen shouldBe true
            }
        }

        for ((what, wait) in listOf<Pair<String, suspend (TwoChannels) -> Unit>>(
            "send" to
                {
                    it.client.send(
                        it.clientPd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }.take(64.KiB),
                    )
                },
            "remote" to { it.client.remote("nothing") },
            "awaitRemote" to { it.client.awaitRemote("memory") },
        )) {
            test("should keep a channel open although the dispatcher of a coroutine that waits in $what throws") {
                TwoChannels().use { ends ->
                    ends.clientDispatcher.whileHeld {
                        CoroutineScope(
                            ThrowingDispatcher + Job(),
                        ).launch(start = CoroutineStart.UNDISPATCHED) { wait(ends) }
                    }
                    ends.server.publish("memory", 8)
                    shouldBeReported()
                    withTimeout(20.seconds) { ends.client.awaitRemote("memory") }
                    ends.client.isOpen shouldBe true
                }
            }
        }

        suspend fun RdmaHost.shouldServe(listener: RdmaListener) =
            coroutineScope {
                val served = async { listener.accept().use { it.awaitEnd() } }
                connect(addressOf(listener)).disconnect()
                withTimeout(20.seconds) { served.await() }
            }

        test("should keep taking connection events when the dispatcher of a connecting coroutine throws") {
            rdmaHost { provider("embedded") }.use { host ->
                val other = host.listen(ANYWHERE)
                CoroutineScope(ThrowingDispatcher + Job()).launch(start = CoroutineStart.UNDISPATCHED) {
                    host.connect(addressOf(other))
                }
                // The client has suspended: the last step cannot be done before, because it needs this answer.
                val accepting = launch(Dispatchers.Default) { other.accept() }
                shouldBeReported()
                accepting.cancel()
                host.shouldServe(host.listen(ANYWHERE))
            }
        }

        test(
            "should reject a client when the dispatcher of the coroutine that takes its request throws, and serve " +
                "the next client",
        ) {
            rdmaHost { provider("embedded") }.use { host ->
                val listener = host.listen(ANYWHERE)
                CoroutineScope(
                    ThrowingDispatcher + Job(),
                ).launch(start = CoroutineStart.UNDISPATCHED) { listener.awaitRequest() }
                shouldThrow<ConnectionRejectedException> { host.connect(addressOf(listener)) }
                shouldBeReported()
                host.shouldServe(listener)
            }
        }

        test("should keep polling with the default strategy when a strategy throws") {
            val asked = AtomicInteger()
            val strategy =
                WaitStrategy {
                    asked.incrementAndGet()
                    throw Planted()
                }
            TwoEnds(dispatcher = { strategy(strategy) }).use { ends ->
                repeat(2) { shouldBeReported() }
                ends.stillWork()
                asked.get() shouldBe 2 // once for each end
            }
        }

        test("should keep polling when a task throws, even if the handler of uncaught exceptions throws, too") {
            Thread.setDefaultUncaughtExceptionHandler { _, e ->
                uncaught.add(e)
                throw Planted()
            }
            TwoEnds().use { ends ->
                ends.client.dispatcher.coroutineDispatcher.dispatch(EmptyCoroutineContext) { throw Planted() }
                shouldBeReported()
                ends.stillWork()
            }
        }

        test("should sleep between polls although a coroutine has interrupted the thread") {
            val rounds = AtomicInteger()
            val strategy =
                WaitStrategy {
                    rounds.incrementAndGet()
                    1_000_000
                }
            TwoEnds(dispatcher = { strategy(strategy) }).use { ends ->
                withContext(ends.client.dispatcher.coroutineDispatcher) { Thread.currentThread().interrupt() }
                val begin = TimeSource.Monotonic.markNow()
                rounds.set(0)
                delay(300)
                val polled = rounds.get()
                // Each end sleeps a millisecond between two polls; a spinning thread polls thousands of times in one.
                polled.toLong() shouldBeLessThan 3 * begin.elapsedNow().inWholeMilliseconds
                withContext(ends.client.dispatcher.coroutineDispatcher) {
                    Thread.currentThread().isInterrupted
                } shouldBe false
            }
        }

        test("should run one coroutine at a time even after the close") {
            for (callers in listOf(false, true)) {
                TwoEnds(dispatcher = { if (callers) callerPolls() }).use { ends ->
                    val dispatcher = ends.client.dispatcher
                    val inside = AtomicInteger()
                    val overlapped = AtomicBoolean()
                    val go = CompletableDeferred<Unit>()
                    coroutineScope {
                        val jobs =
                            List(50) {
                                launch(dispatcher.coroutineDispatcher) {
                                    if (!callers) go.await()
                                    repeat(200) {
                                        if (inside.incrementAndGet() != 1) overlapped.set(true)
                                        Thread.onSpinWait()
                                        inside.decrementAndGet()
                                        yield()
                                    }
                                }
                            }
                        go.complete(Unit)
                        dispatcher.close()
                        jobs.joinAll()
                    }
                    overlapped.get() shouldBe false
                }
            }
        }

        test("should run a coroutine to its end on the caller's thread although the dispatcher is closed meanwhile") {
            for (strategy in listOf(WaitStrategy.event(), WaitStrategy.busy())) {
                TwoEnds(dispatcher = {
                    callerPolls()
                    strategy(strategy)
                }).use { ends ->
                    val dispatcher = ends.client.dispatcher
                    val caller = Thread.currentThread()
                    dispatcher.run {
                        val closing = launch(Dispatchers.Default) { dispatcher.close() }
                        closing.join()
                        delay(10)
                        Thread.currentThread() shouldBe caller
                    }
                }
            }
        }

        test("should let another thread poll that finds nobody polling, and let coroutines run on it") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val dispatcher = ends.client.dispatcher
                repeat(1_000) { dispatcher.poll() } // the guard is this thread's by now
                val ranOn = AtomicReference<Thread>()
                val other =
                    thread {
                        ranOn.set(dispatcher.run { Thread.currentThread() })
                        repeat(1_000) { dispatcher.poll() }
                    }
                other.join()
                ranOn.get() shouldBe other
                dispatcher.run {
                    val nested = shouldThrow<IllegalStateException> { dispatcher.poll() }
                    nested.message shouldContain "thread ${Thread.currentThread().name} is polling already"
                    withContext(dispatcher.coroutineDispatcher) { Thread.currentThread() }
                } shouldBe Thread.currentThread()
            }
        }

        test("should let one thread at a time poll") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val inside = AtomicInteger()
                val overlapped = AtomicBoolean()
                val barrier = CyclicBarrier(2)
                val threads =
                    List(2) {
                        Thread.ofPlatform().start {
                            repeat(3000) {
                                barrier.await()
                                runCatching {
                                    ends.client.dispatcher.run {
                                        if (inside.incrementAndGet() != 1) overlapped.set(true)
                                        Thread.onSpinWait()
                                        inside.decrementAndGet()
                                    }
                                }
                            }
                        }
                    }
                threads.forEach { it.join() }
                overlapped.get() shouldBe false
                shouldThrow<IllegalStateException> { ends.client.dispatcher.run { ends.client.dispatcher.poll() } }
            }
        }
    })
