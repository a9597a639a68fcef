package org.kverbs.management.transaction

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.currentTime
import kotlinx.coroutines.test.runTest
import kotlinx.coroutines.withContext
import org.kverbs.management.path.directed
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeInfo
import org.kverbs.structures.Guid
import java.util.concurrent.ThreadLocalRandom
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds

private const val COROUTINES = 600

/** A wire that loses, delays, doubles and reorders, and ports that are busy. */
private fun TestScope.poorFabric(random: Random) =
    FaultyTransport { request ->
        repeat(if (random.nextInt(10) == 0) 2 else 1) {
            val late = if (random.nextInt(10) == 0) 250 else random.nextInt(1, 50)
            when (random.nextInt(5)) {
                0 -> Unit
                1 -> later(late) { deliver(answerTo(request) { status = 1 }) }
                else -> later(late) { deliver(answerTo(request)) }
            }
        }
    }

private fun TestScope.later(
    millis: Int,
    action: () -> Unit,
) = backgroundScope.launch {
    delay(millis.toLong())
    action()
}

@OptIn(ExperimentalCoroutinesApi::class)
class MadTransactorSpec :
    FunSpec({
        for (seed in 1..5) {
            test("should give each coroutine its own answer over a poor wire (seed $seed)") {
                runTest {
                    var most = 0
                    lateinit var transactor: MadTransactor
                    transactor =
                        MadTransactor(poorFabric(Random(seed)), 16) {
                            most = maxOf(most, transactor.counters.outstanding)
                        }
                    val guids = List(COROUTINES) { async { transactor.guidAt(pathOf(it), retries = 60) } }.awaitAll()
                    guids shouldBe List(COROUTINES) { guidAt(pathOf(it).hops) }
                    most shouldBe 16
                    val counters = transactor.counters
                    counters.outstanding shouldBe 0
                    counters[MadEventKind.COMPLETED] shouldBe COROUTINES.toLong()
                    counters[MadEventKind.RETRIED] shouldBeGreaterThan 0
                    counters[MadEventKind.BUSY] shouldBeGreaterThan 0
                    counters[MadEventKind.LATE] shouldBeGreaterThan 0
                }
            }
        }

        test("should never take an answer with another class, attribute, method or id for its own") {
            val random = Random(7)
            runTest {
                val fabric =
                    FaultyTransport { request ->
                        val wrong =
                            answerTo(request) {
                                when (random.nextInt(4)) {
                                    0 -> mgmtClass = ManagementClass.of(random.nextInt(0x81))
                                    1 -> attributeID = 0x12 + random.nextInt(100)
                                    2 -> method = Method.of(random.nextInt(0x81))
                                    else -> transactionID = transactionID xor (1L shl random.nextInt(12, 32))
                                }
                            }
                        NodeInfo.at(wrong, DATA).nodeGUID = Guid(-1)
                        later(5) { deliver(wrong) }
                        later(10) { deliver(answerTo(request)) }
                    }
                val transactor = MadTransactor(fabric)
                val guids = List(COROUTINES) { async { transactor.guidAt(pathOf(it)) } }.awaitAll()
                guids shouldBe List(COROUTINES) { guidAt(pathOf(it).hops) }
                val counters = transactor.counters
                counters[MadEventKind.UNEXPECTED] + counters[MadEventKind.LATE] shouldBe COROUTINES.toLong()
            }
        }

        test("should survive any bytes that arrive, and answer the next request") {
            val random = Random(11)
            runTest {
                val fabric = FaultyTransport { deliver(answerTo(it)) }
                val transactor = MadTransactor(fabric)
                repeat(20_000) { fabric.deliver(random.nextBytes(if (it % 100 == 0) random.nextInt(300) else 256)) }
                transactor.guidAt(directed(0, 1)) shouldBe guidAt(listOf(0, 1))
                transactor.counters[MadEventKind.UNEXPECTED] shouldBeGreaterThan 19_000
                transactor.counters[MadEventKind.MALFORMED] shouldBeGreaterThan 100
            }
        }

        test("should repeat a request under its id, and then tell who did not answer what") {
            runTest {
                val fabric = FaultyTransport { }
                val error =
                    shouldThrow<MadTimeoutException> { MadTransactor(fabric).guidAt(directed(0, 99), retries = 2) }
                error.attempts shouldBe 3
                error.path shouldBe directed(0, 99)
                error.reply shouldBe null
                error.message shouldContain
                    "no answer from DR Path (0, 99) to MAD_METHOD_GET(1) SMPFormatDirected(129.1) SMPNodeInfo(17)"
                fabric.sent shouldHaveSize 3
                fabric.sent.distinctBy { it.toList() } shouldHaveSize 1
                error.request.toList() shouldBe fabric.sent.first().toList()
                currentTime shouldBe 300
            }
        }

        test("should send again at once if the fabric says that it lost the request") {
            runTest {
                var losses = 2
                val fabric = FaultyTransport { if (losses-- > 0) lose(it) else deliver(answerTo(it)) }
                val transactor = MadTransactor(fabric)
                transactor.guidAt(directed(0, 1)) shouldBe guidAt(listOf(0, 1))
                currentTime shouldBe 0
                transactor.counters[MadEventKind.UNDELIVERED] shouldBe 2
            }
        }

        test("should tell that a port is busy after all retries") {
            runTest {
                val fabric = FaultyTransport { request -> deliver(answerTo(request) { status = 1 }) }
                val error = shouldThrow<MadStatusException> { MadTransactor(fabric).guidAt(directed(0, 1)) }
                error.message shouldContain "with the status BUSY(1)"
                fabric.sent shouldHaveSize 4
            }
        }

        test("should tell the status of an answer by its name") {
            runTest {
                val refused = MadTransactor(FaultyTransport { deliver(answerTo(it) { status = 3 shl 2 }) })
                val error = shouldThrow<MadStatusException> { refused.guidAt(directed(0, 1)) }
                error.message shouldContain "DR Path (0, 1) answered MAD_METHOD_GET(1)"
                error.message shouldContain "METHOD_ATTRIBUTE_NOT_SUPPORTED(3)"
                error.status shouldBe 12
                val ofClass = MadTransactor(FaultyTransport { deliver(answerTo(it) { status = 3 shl 8 }) })
                shouldThrow<MadClassException> { ofClass.guidAt(directed(0, 1)) }.classStatus shouldBe 3
            }
        }

        test("should end all waits when it is closed, those that are not yet sent among them") {
            runTest {
                val fabric = FaultyTransport { }
                val transactor = MadTransactor(fabric, 4)
                val waits = List(10) { async { runCatching { transactor.guidAt(pathOf(it)) }.exceptionOrNull() } }
                delay(1)
                transactor.close()
                transactor.close()
                waits.awaitAll().map { it?.javaClass } shouldBe List(10) { MadClosedException::class.java }
                fabric.isClosed shouldBe true
                transactor.counters.outstanding shouldBe 0
                shouldThrow<IllegalStateException> { transactor.guidAt(directed(0)) }.message shouldContain "closed"
            }
        }

        test("should forget a transaction whose coroutine is cancelled, and count its answer as late") {
            runTest {
                val fabric = FaultyTransport { request -> later(50) { deliver(answerTo(request)) } }
                val transactor = MadTransactor(fabric)
                val asking = launch { transactor.guidAt(directed(0, 1)) }
                delay(10)
                asking.cancelAndJoin()
                transactor.counters.outstanding shouldBe 0
                delay(100)
                transactor.counters[MadEventKind.CANCELLED] shouldBe 1
                transactor.counters[MadEventKind.LATE] shouldBe 1
            }
        }

        test("should leave no entry and no permit behind after a storm of cancellations on many threads") {
            val wire = CoroutineScope(Dispatchers.Default)
            val transport =
                FaultyTransport { request ->
                    wire.launch {
                        when (ThreadLocalRandom.current().nextInt(4)) {
                            0 -> Unit
                            1 -> lose(request)
                            else -> deliver(answerTo(request))
                        }
                    }
                }
            val transactor = MadTransactor(transport, 8)
            withContext(Dispatchers.Default) {
                val random = Random(3)
                List(3000) { index ->
                    launch {
                        val asking = launch { runCatching { transactor.guidAt(pathOf(index), 2.milliseconds, 1) } }
                        if (random.nextInt(3) > 0) asking.cancel()
                    }
                }.joinAll()
                transactor.counters.outstanding shouldBe 0
                // All permits are free: as many requests as there are can wait at once.
                List(8) { async { transactor.guidAt(pathOf(it), 20.milliseconds, 200) } }.awaitAll() shouldBe
                    List(8) { guidAt(pathOf(it).hops) }
            }
            wire.cancel()
        }

        test("should print a line for each event, and outlive a listener that throws") {
            runTest {
                val lines = mutableListOf<String>()
                val thread = Thread.currentThread()
                val handler = thread.uncaughtExceptionHandler
                var thrown = 0
                thread.setUncaughtExceptionHandler { _, _ -> thrown++ }
                try {
                    val fabric = FaultyTransport { deliver(answerTo(it)) }
                    MadTransactor(fabric) {
                        lines += "$it"
                        error("a listener's fault")
                    }.guidAt(directed(0, 1)) shouldBe guidAt(listOf(0, 1))
                } finally {
                    thread.uncaughtExceptionHandler = handler
                }
                thrown shouldBe 2
                lines.map { it.substringBefore(" TID") } shouldBe
                    listOf(
                        "SENT MAD_METHOD_GET(1) SMPFormatDirected(129.1) SMPNodeInfo(17)",
                        "COMPLETED MAD_METHOD_GET_RESP(129) SMPFormatDirected(129.1) SMPNodeInfo(17)",
                    )
            }
        }
    })
