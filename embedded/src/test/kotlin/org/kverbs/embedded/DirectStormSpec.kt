package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.RdmaException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.util.concurrent.Callable
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.random.Random

private const val ROOM = 4096L
private const val ROUNDS = 18
private const val MESSAGES = 20_000L

/** What the program fills memory with when the device has no right to it any more. */
private const val OWN: Byte = 0x5a

private val filled: MemorySegment = Arena.global().allocate(ROOM).fill(OWN)

private fun QueuePair.become(state: QueuePairState) = modify(QueuePairAttributes.builder().state(state).build())

/** What ends the device's right to the memory while another thread posts. */
private enum class Ending(
    val end: (End, End, MemoryRegion) -> Unit,
) {
    CLOSE_REGION({ _, _, region -> region.close() }),
    REREGISTER({ _, _, region -> region.reregister(AccessFlag.LOCAL_WRITE) }),
    RESET_PEER({ _, b, _ -> b.qp.become(QueuePairState.RESET) }),
    FAIL_PEER({ _, b, _ -> b.qp.become(QueuePairState.ERR) }),
    CLOSE_PEER({ _, b, _ -> b.qp.close() }),
    CLOSE_CONTEXT({ _, b, _ -> b.context.close() }),
    FAIL_SENDER({ a, _, _ -> a.qp.become(QueuePairState.ERR) }),
    RESET_SENDER({ a, _, _ -> a.qp.become(QueuePairState.RESET) }),
}

/** Posts short messages until the device's right to the target ends, and looks at the target. */
private fun endDuringPosts(
    fabric: EmbeddedFabric,
    ending: Ending,
    random: Random,
) {
    val pair = listOf(fabric.addDevice(), fabric.addDevice()).map { End(it, QueuePairType.RC, ROOM) }
    val (a, b) = pair
    val memory = Arena.ofAuto().allocate(ROOM)
    val region = b.pd.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
    a.qp.connect(b.qp.endpoint(patient), patient)
    b.qp.connect(a.qp.endpoint(patient), patient)
    val remote = region.remote()
    val wait = random.nextLong(100_000)
    val other = Executors.newSingleThreadExecutor()
    val done = AtomicBoolean()
    val cut =
        other.submit(
            Callable {
                val start = System.nanoTime()
                while (System.nanoTime() - start < wait) Thread.onSpinWait()
                ending.end(a, b, region)
                memory.fill(OWN)
                done.set(true)
            },
        )
    try {
        while (!done.get()) {
            a.post { write(1, remote).from(a.mr.slice(0, ROOM)).signaled() }
            a.poll(8)
        }
    } catch (e: RdmaException) {
        // The sender has ended.
    }
    cut.get(1, TimeUnit.MINUTES)
    withClue("$ending after $wait ns") { memory.mismatch(filled) shouldBe -1 }
    other.shutdown()
    a.close()
    if (ending != Ending.CLOSE_CONTEXT) b.close()
}

/** Sends numbered messages through a connection of its own, in one thread, and looks at each. */
private fun exchangeNumbers(
    a: End,
    b: End,
) {
    for (i in 0 until MESSAGES) {
        val (from, to) = if (i % 3 == 0L) listOf(b, a) else listOf(a, b)
        from.mr.memory().set(ValueLayout.JAVA_LONG, 0, i)
        to.qp.postReceive(i, to.mr.slice(64, 64))
        from.post { sendWithImmediate(i, i.toInt()).from(from.mr.slice(0, 64)).signaled() }
        to.await(1).single().run {
            orThrow()
            workRequestId() shouldBe i
            immediate() shouldBe i.toInt()
        }
        from.await(1).single().run {
            orThrow()
            workRequestId() shouldBe i
        }
        to.mr.memory().get(ValueLayout.JAVA_LONG, 64) shouldBe i
    }
}

class DirectStormSpec :
    FunSpec({
        for (ending in Ending.entries) {
            test("should touch no memory after $ending, whatever another thread posts at that moment") {
                val random = Random(ending.ordinal)
                EmbeddedFabric.realTime(1).use { fabric ->
                    repeat(ROUNDS) { endDuringPosts(fabric, ending, random) }
                }
            }
        }

        test("should lose and mix up nothing while other threads change what the messages depend on") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val devices = List(2) { fabric.addDevice() }
                val ends = List(2) { devices.map { End(it, QueuePairType.RC, ROOM) } }
                for ((a, b) in ends) {
                    a.qp.connect(b.qp.endpoint(patient), patient)
                    b.qp.connect(a.qp.endpoint(patient), patient)
                }
                val pool = Executors.newCachedThreadPool()
                val ended = AtomicBoolean()
                val changes =
                    pool.submit(
                        Callable {
                            val random = Random(1)
                            var count = 0L
                            while (!ended.get()) {
                                val (a, b) = ends.random(random)
                                when (random.nextInt(6)) {
                                    0 -> fabric.setFaults(Faults.NONE.duplication(0.2))
                                    1 -> a.cq.resize(random.nextInt(100, 2000))
                                    2 -> b.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE).close()
                                    3 -> End(devices[0], QueuePairType.RC, ROOM).close()
                                    4 -> b.qp.query()
                                    else -> a.qp.counters()
                                }
                                fabric.setFaults(Faults.NONE)
                                count++
                                Thread.sleep(0, random.nextInt(200_000))
                            }
                            count
                        },
                    )
                val workers = ends.map { (a, b) -> pool.submit(Callable { exchangeNumbers(a, b) }) }
                workers.forEach { it.get(3, TimeUnit.MINUTES) }
                ended.set(true)
                changes.get(1, TimeUnit.MINUTES) shouldBeGreaterThan 0
                pool.shutdown()
                fabric.engine().enter()
                try {
                    for (device in devices) {
                        fabric.hca(device).queuePairs.forEach { it.direct.made() shouldBeGreaterThan 0 }
                    }
                } finally {
                    fabric.engine().leave()
                }
                ends.flatten().forEach(End::close)
            }
        }
    })
