package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.MemorySlice
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.transport.InsideDirectPath
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import java.util.function.Consumer
import kotlin.random.Random

private const val STEPS = 400
private const val PROGRAMS = 60
private const val BYTES = 1L shl 18
private const val LONGEST = 50_000
private const val SHORT = 64L

/** The constants of the same names in the direct path. */
private const val NOT_DONE = 1
private const val IN_USE = 2

private fun EmbeddedFabric.permit(open: Boolean) {
    engine().enter()
    try {
        engine().sharers().permit(open)
    } finally {
        engine().leave()
    }
}

/** Returns how many requests and receives of both ends went the direct path. */
internal fun Pair.direct(): Long {
    fabric.engine().enter()
    try {
        var sum = 0L
        for (device in listOf(client, server)) {
            fabric.hca(device).queuePairs.forEach { sum += it.direct.made() }
        }
        return sum
    } finally {
        fabric.engine().leave()
    }
}

private fun CompletionQueue.describeAll(): List<String> {
    val batch = WorkCompletions(64)
    return generateSequence { poll(batch) }
        .takeWhile { it > 0 }
        .flatMap { count -> List(count) { batch.get(it).copy() } }
        .map {
            val word = if (it.hasImmediate()) it.immediate() else 0
            "${it.workRequestId()} ${it.status()} ${it.opcode()} ${it.byteLength()} $word ${it.queuePairNumber()} " +
                "${it.sourceQueuePair()} ${it.flags()}"
        }.toList()
}

/** A program of random requests from both ends, the same for each run with one seed. */
private class Program(
    seed: Int,
    private val pair: Pair,
) {
    private val random = Random(seed)
    private val found = mutableListOf<String>()
    private val receives = mutableMapOf(pair.a to 0, pair.b to 0)
    private var number = 0L

    private fun slice(
        end: End,
        most: Int = LONGEST,
    ): MemorySlice {
        val length = if (random.nextBoolean()) random.nextInt(1, 200) else random.nextInt(0, most)
        return end.mr.slice(random.nextLong(BYTES - length), length.toLong())
    }

    private fun receive(end: End) {
        if (receives.getValue(end) < 100) {
            receives.merge(end, 1, Int::plus)
            val whole = end.mr.slice(random.nextLong(BYTES - LONGEST), LONGEST.toLong())
            end.qp.postReceive(number++, whole)
        }
    }

    private fun SendRequests.add(
        from: End,
        to: End,
    ) {
        val id = number++
        val remote = to.mr.remote().slice(random.nextLong(BYTES - LONGEST) and 7L.inv(), LONGEST.toLong())
        val kind = random.nextInt(9)
        if (kind in 2..4) {
            receive(to)
            receives.merge(to, -1, Int::plus)
        }
        when (kind) {
            0, 1 -> write(id, remote)
            2 -> writeWithImmediate(id, remote, random.nextInt())
            3 -> send(id)
            4 -> sendWithImmediate(id, random.nextInt())
            5 -> read(id, remote).into(slice(from))
            6 -> fetchAndAdd(id, remote, random.nextLong()).into(from.mr.slice(0, 8))
            else -> write(id, remote).inline(random.nextBytes(random.nextInt(64)))
        }
        if (kind < 5) {
            from(slice(from, LONGEST / 2))
            if (random.nextInt(8) == 0) from(slice(from, LONGEST / 2))
        }
        if (random.nextInt(3) > 0) signaled()
        if (random.nextInt(9) == 0) solicited()
        if (random.nextInt(9) == 0) fence()
    }

    private fun step() {
        val (from, to) = if (random.nextInt(4) > 0) listOf(pair.a, pair.b) else listOf(pair.b, pair.a)
        when (random.nextInt(12)) {
            0 -> receive(to)
            1 -> from.post { repeat(random.nextInt(1, 4)) { add(from, to) } }
            else -> from.post { add(from, to) }
        }
        if (random.nextInt(6) == 0) poll()
    }

    private fun poll() {
        for (end in listOf(pair.a, pair.b)) found += end.cq.describeAll()
    }

    /** Runs the program, and returns what the program and its peer can see then. */
    fun run(): List<Any> {
        pair.a.fill(1)
        pair.b.fill(2)
        repeat(STEPS) { step() }
        // A request that is refused ends the connection.
        pair.a.post { write(number++, pair.b.mr.remote()).from(slice(pair.a)).signaled() }
        poll()
        pair.a.post { write(number++, pair.b.mr.address(), pair.b.mr.rkey() xor 1).from(pair.a.mr.slice(0, 9)) }
        poll()
        val counters = listOf(pair.client, pair.server).map { it.counters() }
        val states = listOf(pair.a, pair.b).map { it.qp.query().state() }
        return found + counters + states + listOf(pair.a, pair.b).map { it.bytes().contentHashCode() }
    }
}

private fun MemorySlice.writeTo(
    pair: Pair,
    id: Long = 1,
) = pair.a.post { write(id, pair.b.mr.remote()).from(this@writeTo).signaled() }

class DirectPathSpec :
    FunSpec({
        test("should leave the same completions, memory and counters as the usual path") {
            var direct = 0L
            repeat(PROGRAMS) { seed ->
                val outcomes =
                    listOf(true, false).map { open ->
                        Pair(EmbeddedFabric.realTime(seed.toLong()), bytes = BYTES).use { pair ->
                            pair.fabric.permit(open)
                            Program(seed, pair).run().also {
                                if (open) direct += pair.direct() else pair.direct() shouldBe 0
                            }
                        }
                    }
                withClue("seed $seed") { outcomes[0] shouldBe outcomes[1] }
            }
            withClue(
                "requests and receives that went the direct path",
            ) { (direct > PROGRAMS * STEPS / 4) shouldBe true }
        }

        test("should carry out short writes, sends and receives without the lock") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                pair.a.mr
                    .slice(0, SHORT)
                    .writeTo(pair)
                pair.direct() shouldBe 1
                pair.b.qp.postReceive(2, pair.b.mr.slice(0, SHORT))
                pair.a.post { send(3).from(pair.a.mr.slice(0, SHORT)).signaled() }
                pair.direct() shouldBe 3
                pair.a.take(2).forEach { it.orThrow() }
                pair.b.take(1).forEach { it.orThrow() }
            }
        }

        test("should leave all else to the usual path") {
            val changes =
                mapOf<String, (Pair) -> Unit>(
                    "faults" to { it.fabric.setFaults(Faults.NONE.duplication(0.1)) },
                    "diagnostics" to { it.fabric.diagnose { } },
                    "a state without sending at the peer" to {
                        it.b.qp.modify(QueuePairAttributes.builder().state(QueuePairState.SQD).build())
                    },
                )
            for ((what, change) in changes) {
                Pair(EmbeddedFabric.realTime(1)).use { pair ->
                    change(pair)
                    pair.a.mr
                        .slice(0, SHORT)
                        .writeTo(pair)
                    withClue(what) { pair.direct() shouldBe 0 }
                    pair.a.await(1).forEach { it.orThrow() }
                }
            }
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                pair.a.mr
                    .slice(0, SHORT)
                    .writeTo(pair)
                pair.direct() shouldBe 0
            }
        }

        test("should tell what another thread has for a moment from what the usual path is to do") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                val inside = InsideDirectPath(pair.fabric.hca(pair.client), pair.a.qp.number())
                val engine = pair.fabric.engine()
                engine.enter()
                try {
                    inside.receiveNothing() shouldBe NOT_DONE
                    CompletableFuture.supplyAsync(inside::receiveNothing).get(20, TimeUnit.SECONDS) shouldBe IN_USE
                } finally {
                    engine.leave()
                }
                inside.whileUsed(inside::receiveNothing) shouldBe IN_USE
                inside.receiveNothing() shouldBe 0
                pair.fabric.permit(false)
                inside.receiveNothing() shouldBe NOT_DONE
            }
        }

        test("should leave a completion to the usual path if an event was asked for") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                val channel = pair.a.context.completionChannel()
                val cq = pair.a.context.completionQueue(CompletionQueueAttributes(64, channel, 0))
                val qp = pair.a.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))
                val peer = pair.b.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, pair.b.cq))
                qp.connect(peer.endpoint())
                peer.connect(qp.endpoint())
                for (isArmed in listOf(true, false)) {
                    if (isArmed) cq.arm()
                    qp.postWith(
                        Consumer { it.write(1, pair.b.mr.remote()).from(pair.a.mr.slice(0, SHORT)).signaled() },
                    )
                    pair.direct() shouldBe if (isArmed) 0 else 1
                    channel.awaitEvent(Duration.ZERO) shouldBe if (isArmed) cq else null
                }
            }
        }

        test("should refuse a region that was closed, or that does not permit writes") {
            for (isClosed in listOf(true, false)) {
                Pair(EmbeddedFabric.realTime(1)).use { pair ->
                    val region = pair.b.pd.memoryRegion(SHORT, AccessFlag.LOCAL_WRITE)
                    val address = region.address()
                    val rkey = region.rkey()
                    if (isClosed) region.close()
                    pair.a.post { write(1, address, rkey).from(pair.a.mr.slice(0, SHORT)) }
                    pair.direct() shouldBe 0
                    pair.a.take(1).single().isSuccess shouldBe false
                }
            }
        }
    })
