package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.RdmaException
import org.kverbs.RemoteMemory
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.util.concurrent.Callable
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import kotlin.random.Random

private const val REQUESTS = 6
private const val LARGEST = 1 shl 20
private const val ROOM = (REQUESTS * LARGEST).toLong()

/** What the program fills memory with when the device has no right to it any more. */
private const val OWN: Byte = 0x5a

/** What ends the device's right to the memory while the requests are posted and carried out. */
private enum class Cut(
    val end: (End, End, MemoryRegion) -> Unit,
) {
    NOTHING({ _, _, _ -> }),
    CLOSE_REGION({ _, _, region -> region.close() }),
    RESET_PEER({ _, b, _ -> b.qp.become(QueuePairState.RESET) }),
    FAIL_PEER({ _, b, _ -> b.qp.become(QueuePairState.ERR) }),
    CLOSE_PEER({ _, b, _ -> b.qp.close() }),
    CLOSE_CONTEXT({ _, b, _ -> b.context.close() }),
    RESET_SENDER({ a, _, _ -> a.qp.become(QueuePairState.RESET) }),
    FAIL_SENDER({ a, _, _ -> a.qp.become(QueuePairState.ERR) }),
    CLOSE_SENDER({ a, _, _ -> a.qp.close() }),
}

private fun QueuePair.become(state: QueuePairState) = modify(QueuePairAttributes.builder().state(state).build())

private val filled: MemorySegment = Arena.global().allocate(ROOM).fill(OWN)

/** One of the threads, with two devices of its own on the common fabric. */
private class Worker(
    fabric: EmbeddedFabric,
    seed: Long,
) : AutoCloseable {
    private val random = Random(seed)
    private val near = fabric.addDevice()
    private val far = fabric.addDevice()
    private val cutter = Executors.newSingleThreadExecutor()
    val cuts = mutableMapOf<Cut, Int>()

    /** Posts long requests, while another thread ends the device's right to the target, and looks at the target. */
    fun round(isSend: Boolean) {
        val a = End(near, QueuePairType.RC, ROOM)
        val b = End(far, QueuePairType.RC, 64)
        val memory = Arena.ofAuto().allocate(ROOM)
        val region = b.pd.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
        a.qp.connect(b.qp.endpoint(patient), patient)
        b.qp.connect(a.qp.endpoint(patient), patient)
        val remote = region.remote()
        val seed = random.nextInt()
        a.fill(seed)
        val sizes = List(REQUESTS) { random.nextInt(1, LARGEST) }
        val cut = Cut.entries[random.nextInt(Cut.entries.size)]
        cuts.merge(cut, 1, Int::plus)
        val wait = random.nextLong(300_000)
        if (isSend) {
            repeat(REQUESTS) { b.qp.postReceive(it.toLong(), part(region, it, LARGEST)) }
        }
        val other =
            cutter.submit(
                Callable {
                    val start = System.nanoTime()
                    while (System.nanoTime() - start < wait) Thread.onSpinWait()
                    cut.end(a, b, region)
                    if (cut != Cut.NOTHING) memory.fill(OWN)
                },
            )
        post(a, remote, sizes, isSend)
        other.get(1, TimeUnit.MINUTES)
        withClue("$cut after $wait ns, ${if (isSend) "sends" else "writes"} of $sizes") {
            if (cut == Cut.NOTHING) {
                a.await(REQUESTS).forEach { it.orThrow() }
                for ((i, size) in sizes.withIndex()) {
                    val at = i.toLong() * LARGEST
                    memory.asSlice(at, size.toLong()).mismatch(a.mr.memory().asSlice(at, size.toLong())) shouldBe -1
                }
            } else {
                memory.mismatch(filled) shouldBe -1
            }
        }
        a.close()
        if (cut != Cut.CLOSE_CONTEXT) b.close()
    }

    private fun part(
        region: MemoryRegion,
        request: Int,
        size: Int,
    ) = region.slice(request.toLong() * LARGEST, size.toLong())

    private fun post(
        a: End,
        remote: RemoteMemory,
        sizes: List<Int>,
        isSend: Boolean,
    ) {
        for ((i, size) in sizes.withIndex()) {
            val source = part(a.mr, i, size)
            try {
                a.post {
                    if (isSend) {
                        send(i.toLong()).from(source).signaled()
                    } else {
                        write(i.toLong(), remote.at(i.toLong() * LARGEST)).from(source).signaled()
                    }
                }
            } catch (e: RdmaException) {
                return // the queue pair was reset
            } catch (e: IllegalStateException) {
                return // the queue pair was closed
            }
        }
    }

    override fun close() {
        cutter.shutdown()
    }
}

/**
 * Checks copies that are made without the lock: in the storm, two threads post on two connections of one fabric, and
 * two more close regions and reset, fail and close queue pairs and contexts beside them. The system property
 * storm.seconds makes it longer.
 */
class EarlyCopySpec :
    FunSpec({
        timeout = 7_200_000 // for the long run
        invocationTimeout = timeout

        for (isSend in listOf(false, true)) {
            val kind = if (isSend) "sends" else "writes"
            test("should touch no memory without a right to it, nor lose a byte, in a storm of $kind ($STORM_SEED)") {
                EmbeddedFabric.realTime(1).use { fabric ->
                    val workers = List(2) { Worker(fabric, STORM_SEED + it) }
                    fabric.storm(kind, STORM_NANOS / 2, workers, Worker::cuts) { it.round(isSend) }
                }
            }
        }
    })
