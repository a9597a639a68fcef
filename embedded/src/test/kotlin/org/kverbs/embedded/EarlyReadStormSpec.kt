package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaException
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.util.concurrent.Callable
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import kotlin.random.Random

private const val REQUESTS = 6
private const val LARGEST = 1 shl 21
private const val ROOM = (REQUESTS * LARGEST).toLong()

/** What the program fills memory with when the device has no right to it any more; no byte of the source is this. */
private const val OWN: Byte = 0x5a

/** The entries of a completion queue; a power of two. */
private const val ENTRIES = 16

/** Room for requests that are more than that. */
private val SHORT = QueuePairCapabilities(2 * ENTRIES, 1, 1, 1, 1)

/** How many sources there are. */
private const val SHIFTS = 1 shl 16

/** What the target has before the reads. */
private const val BEFORE: Byte = 0x3c

private class Ends(
    val reader: End,
    val peer: End,
    val source: MemoryRegion,
    val target: MemoryRegion,
) {
    /** Another queue pair of the reader, which completes to the same completion queue. */
    private val other = reader.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, reader.cq).with(SHORT))

    init {
        val far = peer.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, peer.cq))
        other.connect(far.endpoint(patient), patient)
        far.connect(other.endpoint(patient), patient)
    }

    /** Breaks the completion queue, and by this both queue pairs. */
    fun overrun() =
        other.postWith { requests ->
            repeat(2 * ENTRIES) { requests.write(9, peer.mr.remote()).inline(byteArrayOf(1)).signaled() }
        }
}

/** Whose memory the program gets back. */
private enum class Side { NONE, READER, PEER }

/** What ends the device's right to memory while the reads are posted and carried out. */
private enum class ReadCut(
    val side: Side,
    val end: (Ends) -> Unit,
) {
    NOTHING(Side.NONE, {}),
    CLOSE_SOURCE(Side.PEER, { it.source.close() }),
    RESET_PEER(Side.PEER, { it.peer.qp.become(QueuePairState.RESET) }),
    FAIL_PEER(Side.PEER, { it.peer.qp.become(QueuePairState.ERR) }),
    CLOSE_PEER(Side.PEER, { it.peer.qp.close() }),
    CLOSE_PEER_CONTEXT(Side.PEER, { it.peer.context.close() }),
    CLOSE_TARGET(Side.READER, { it.target.close() }),
    RESET_READER(Side.READER, { it.reader.qp.become(QueuePairState.RESET) }),
    FAIL_READER(Side.READER, { it.reader.qp.become(QueuePairState.ERR) }),
    CLOSE_READER(Side.READER, { it.reader.qp.close() }),
    OVERRUN(Side.READER, { it.overrun() }),
    CLOSE_READER_CONTEXT(Side.READER, { it.reader.context.close() }),
}

private fun QueuePair.become(state: QueuePairState) = modify(QueuePairAttributes.builder().state(state).build())

/** One of the threads, with two devices of its own on the common fabric. */
private class Reader(
    fabric: EmbeddedFabric,
    seed: Long,
) : AutoCloseable {
    private val random = Random(seed)
    private val near = fabric.addDevice()
    private val far = fabric.addDevice()
    private val cutter = Executors.newSingleThreadExecutor()

    /** What the sources get, from a place on that is another in each round. */
    private val bytes = random.nextBytes(ROOM.toInt() + SHIFTS).also(::takeOutOwn)
    private var shift = 0
    val cuts = mutableMapOf<ReadCut, Int>()

    /** Posts long reads, while another thread ends the right to the source or the target, and looks at the target. */
    fun round() {
        val a = End(near, QueuePairType.RC, 64, entries = ENTRIES)
        val b = End(far, QueuePairType.RC, 64)
        val memory = Arena.ofAuto().allocate(ROOM).fill(BEFORE)
        val source = b.pd.register(fresh(), AccessFlag.REMOTE_READ)
        val ends = Ends(a, b, source, a.pd.register(memory, AccessFlag.LOCAL_WRITE))
        a.qp.connect(b.qp.endpoint(patient), patient)
        b.qp.connect(a.qp.endpoint(patient), patient)
        val remote = source.remote()
        val cut = ReadCut.entries[random.nextInt(ReadCut.entries.size)]
        cuts.merge(cut, 1, Int::plus)
        val sizes = List(REQUESTS) { random.nextInt(1, if (random.nextBoolean()) LARGEST else LARGEST / 64) }
        val wait = random.nextLong(600_000)
        val other = cutter.submit(Callable { cut(ends, cut, wait, memory, source.memory()) })
        val isPosted = post(ends, remote, sizes, random.nextBoolean())
        other.get(1, TimeUnit.MINUTES)
        if (cut == ReadCut.OVERRUN) a.qp.state() shouldBe QueuePairState.ERR
        withClue("$cut after $wait ns, reads of $sizes") {
            if (cut == ReadCut.NOTHING) {
                isPosted shouldBe true
                a.await(REQUESTS).forEach { it.orThrow() }
            }
            // Whoever copies for this reader has ended when it is closed.
            if (cut != ReadCut.CLOSE_READER_CONTEXT) a.close()
            if (cut != ReadCut.CLOSE_PEER_CONTEXT) b.close()
            check(cut, sizes, memory.toArray(ValueLayout.JAVA_BYTE))
        }
    }

    private fun takeOutOwn(from: ByteArray) {
        for (i in from.indices) if (from[i] == OWN) from[i] = 0
    }

    private fun fresh(): MemorySegment {
        shift = random.nextInt(SHIFTS)
        return Arena.ofAuto().allocate(ROOM).copyFrom(MemorySegment.ofArray(bytes).asSlice(shift.toLong(), ROOM))
    }

    private fun cut(
        ends: Ends,
        cut: ReadCut,
        wait: Long,
        target: MemorySegment,
        source: MemorySegment,
    ) {
        val start = System.nanoTime()
        while (System.nanoTime() - start < wait) Thread.onSpinWait()
        cut.end(ends)
        when (cut.side) {
            Side.NONE -> Unit
            Side.READER -> target.fill(OWN)
            Side.PEER -> source.fill(OWN)
        }
    }

    private fun post(
        ends: Ends,
        remote: RemoteMemory,
        sizes: List<Int>,
        isList: Boolean,
    ): Boolean {
        fun SendRequests.add(request: Int) {
            val at = request.toLong() * LARGEST
            read(request.toLong(), remote.at(at)).into(ends.target.slice(at, sizes[request].toLong())).signaled()
        }
        try {
            if (isList) {
                ends.reader.post { repeat(REQUESTS) { add(it) } }
            } else {
                repeat(REQUESTS) { ends.reader.post { add(it) } }
            }
            return true
        } catch (e: RdmaException) {
            return false // the queue pair was reset
        } catch (e: IllegalStateException) {
            return false // something was closed
        }
    }

    /** Each byte of the target is right, or as it was before; and nothing of what the program has since written. */
    private fun check(
        cut: ReadCut,
        sizes: List<Int>,
        found: ByteArray,
    ) {
        for (i in found.indices) {
            val right = bytes[shift + i]
            val isRead = i % LARGEST < sizes[i / LARGEST]
            val fits =
                when {
                    cut.side == Side.READER -> found[i] == OWN
                    !isRead -> found[i] == BEFORE
                    cut == ReadCut.NOTHING -> found[i] == right
                    else -> found[i] == right || found[i] == BEFORE
                }
            if (!fits) withClue("byte $i") { found[i] shouldBe right }
        }
    }

    override fun close() {
        cutter.shutdown()
    }
}

/**
 * Checks long reads that copy without the lock: two threads read on two connections of one fabric, and two more close
 * regions, reset, fail and close queue pairs and contexts, and break completion queues beside them. The system property
 * storm.seconds makes it longer.
 */
class EarlyReadStormSpec :
    FunSpec({
        timeout = 7_200_000 // for the long run
        invocationTimeout = timeout

        test(
            "should touch no memory without a right to it, nor bring a wrong byte, in a storm of reads ($STORM_SEED)",
        ) {
            EmbeddedFabric.realTime(1).use { fabric ->
                val readers = List(2) { Reader(fabric, STORM_SEED + it) }
                fabric.storm("reads", STORM_NANOS, readers, Reader::cuts, Reader::round)
            }
        }
    })
