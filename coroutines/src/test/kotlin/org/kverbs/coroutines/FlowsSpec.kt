package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.produceIn
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Context
import org.kverbs.WorkCompletion
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.PortState
import org.kverbs.dsl.RC
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.connect
import org.kverbs.dsl.endpoint
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice
import org.kverbs.dsl.post
import org.kverbs.dsl.qp
import org.kverbs.dsl.write
import org.kverbs.embedded.EmbeddedFabric
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.time.Duration.Companion.seconds

private const val PATIENCE = 20

/** A queue pair that is connected to itself, with a completion queue on a dispatcher's channel. */
private class Looped(
    device: Context,
    strategy: WaitStrategy,
) {
    val dispatcher = device.completionDispatcher { strategy(strategy) }
    val cq: CompletionQueue = device.completionQueue(CompletionQueueAttributes.of(4096, dispatcher.channel))
    private val pd = device.protectionDomain()
    private val region = pd.memoryRegion(64) { access(LOCAL_WRITE, REMOTE_WRITE) }
    private val qp =
        pd.qp(RC) {
            cq(cq)
            maxSendWr(2048)
        }

    init {
        qp.connect(qp.endpoint())
    }

    fun write(ids: LongRange) =
        ids.forEach { id ->
            qp.post { write(region[0, 8], to = region.remote(), id = id).signaled() }
        }

    /** Returns the ids of the next completions. */
    suspend fun ids(
        count: Int,
        from: Flow<WorkCompletion> = dispatcher.completions(cq),
    ) = withTimeout(PATIENCE.seconds) { from.take(count).map { it.orThrow().workRequestId() }.toList() }
}

class FlowsSpec :
    FunSpec({
        for ((name, strategy) in mapOf(
            "busy" to WaitStrategy.busy(),
            "event" to WaitStrategy.event(),
            "adaptive" to WaitStrategy.adaptive(),
        )) {
            test("should emit every completion of a program's queue in order, by the $name strategy") {
                openDevice("embedded0").use { device ->
                    val looped = Looped(device, strategy)
                    coroutineScope {
                        val ids = async(start = UNDISPATCHED) { looped.ids(1000) }
                        withContext(Dispatchers.IO) { looped.write(0L until 1000) }
                        ids.await() shouldContainExactly (0L until 1000).toList()
                    }
                }
            }
        }

        test("should leave completions in the queue while the collector is slow, and continue later") {
            openDevice("embedded0").use { device ->
                val looped = Looped(device, WaitStrategy.event())
                val begun = CompletableDeferred<Unit>()
                val goOn = CompletableDeferred<Unit>()
                val seen = ConcurrentLinkedQueue<Long>()
                coroutineScope {
                    val collector =
                        launch(Dispatchers.IO) {
                            looped.dispatcher.completions(looped.cq).collect {
                                begun.complete(Unit)
                                goOn.await()
                                seen += it.workRequestId()
                            }
                        }
                    looped.write(0L until 1500)
                    withTimeout(PATIENCE.seconds) { begun.await() }
                    // A program must not poll this queue; here it shows the remaining completions.
                    val left = ArrayList<Long>()
                    while (looped.cq.poll({ left += it.workRequestId() }, 100) > 0) continue
                    left.size shouldBeGreaterThan 1000
                    looped.write(2000L until 2500)
                    goOn.complete(Unit)
                    withTimeout(PATIENCE.seconds) { while (seen.size + left.size < 2000) delay(1) }
                    collector.cancel()
                    (seen + left).sorted() shouldContainExactly (0L until 1500) + (2000L until 2500)
                    seen.toList() shouldContainExactly seen.sorted()
                }
            }
        }

        test("should give the next collector the completions that a cancelled one has not seen") {
            openDevice("embedded0").use { device ->
                val looped = Looped(device, WaitStrategy.event())
                val flow = looped.dispatcher.completions(looped.cq)
                looped.write(0L until 100)
                looped.ids(40, flow) shouldContainExactly (0L until 40).toList()
                looped.write(100L until 120)
                looped.ids(80, flow) shouldContainExactly (40L until 120).toList()
            }
        }

        test("should refuse a second collector at a time, and a queue of another channel") {
            openDevice("embedded0").use { device ->
                val looped = Looped(device, WaitStrategy.event())
                val flow = looped.dispatcher.completions(looped.cq)
                coroutineScope {
                    val first = launch(start = UNDISPATCHED) { flow.collect() }
                    shouldThrow<IllegalStateException> { flow.collect() }.message shouldContain "collected already"
                    first.cancel()
                }
                shouldThrow<IllegalArgumentException> {
                    looped.dispatcher.completions(
                        device.completionQueue { entries(8) },
                    )
                }.message shouldContain "dispatcher.channel"
            }
        }

        val endings =
            mapOf<String, (Looped) -> Unit>(
                "queue" to { it.cq.close() },
                "dispatcher" to { it.dispatcher.close() },
                "device" to { it.cq.context().close() },
            )
        for ((what, close) in endings) {
            test("should end the flow of completions when the $what is closed, also for later collectors") {
                openDevice("embedded0").use { device ->
                    val looped = Looped(device, WaitStrategy.event())
                    val flow = looped.dispatcher.completions(looped.cq)
                    coroutineScope {
                        val end = async(start = UNDISPATCHED) { runCatching { flow.collect() }.exceptionOrNull() }
                        delay(50) // until the polling thread sleeps, the hard case
                        close(looped)
                        withTimeout(PATIENCE.seconds) { end.await() }.shouldBeClosed()
                        withTimeout(
                            PATIENCE.seconds,
                        ) { runCatching { flow.collect() }.exceptionOrNull() }.shouldBeClosed()
                    }
                }
            }
        }

        test("should emit the events of the device") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val pulled = fabric.addDevice()
                pulled.open().use { device ->
                    coroutineScope {
                        val events = device.asyncEvents().produceIn(this)
                        fabric.linkDown(pulled)
                        withTimeout(PATIENCE.seconds) { events.receive() }.type() shouldBe AsyncEventType.PORT_ERR
                        fabric.linkUp(pulled)
                        withTimeout(PATIENCE.seconds) { events.receive() }.type() shouldBe AsyncEventType.PORT_ACTIVE
                        events.cancel()
                    }
                }
            }
        }

        test("should refuse a second collector of the events of a device or its ports until the first has ended") {
            openDevice("embedded0").use { device ->
                coroutineScope {
                    val first = launch(start = UNDISPATCHED) { device.asyncEvents().collect() }
                    withTimeout(PATIENCE.seconds) { while (eventThreads() == 0) delay(10) }
                    shouldThrow<IllegalStateException> { device.asyncEvents().collect() }.message shouldContain
                        "are being collected already"
                    shouldThrow<IllegalStateException> { device.ports().collect() }.message shouldContain
                        "are being collected already"
                    first.cancelAndJoin()
                    device.ports().first().port shouldBe 1
                    val second = launch(start = UNDISPATCHED) { device.asyncEvents().collect() }
                    delay(1)
                    second.isActive shouldBe true
                    second.cancel()
                }
            }
        }

        test(
            "should end the flow of events when the device is closed, and its thread when the collector is cancelled",
        ) {
            val device = openDevice("embedded0")
            coroutineScope {
                val collector = launch(start = UNDISPATCHED) { device.asyncEvents().collect() }
                withTimeout(PATIENCE.seconds) { while (eventThreads() == 0) delay(10) }
                collector.cancel()
                withTimeout(PATIENCE.seconds) { while (eventThreads() > 0) delay(10) }
                val end =
                    async(start = UNDISPATCHED) { runCatching { device.asyncEvents().collect() }.exceptionOrNull() }
                device.close()
                withTimeout(PATIENCE.seconds) { end.await() }.shouldBeClosed()
            }
        }

        test("should emit the state of a port and its changes") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val pulled = fabric.addDevice()
                pulled.open().use { device ->
                    coroutineScope {
                        val states = device.ports().map { it.port to it.attributes.state() }.produceIn(this)
                        withTimeout(PATIENCE.seconds) {
                            states.receive() shouldBe (1 to PortState.ACTIVE)
                            fabric.linkDown(pulled)
                            states.receive() shouldBe (1 to PortState.DOWN)
                            fabric.linkUp(pulled)
                            states.receive() shouldBe (1 to PortState.ACTIVE)
                        }
                        states.cancel()
                    }
                }
            }
        }
    })

private fun Throwable?.shouldBeClosed() {
    (this is IllegalStateException) shouldBe true
    this?.message.orEmpty() shouldContain "closed"
}

private fun eventThreads() = Thread.getAllStackTraces().keys.count { it.name.startsWith("kverbs-events") }
