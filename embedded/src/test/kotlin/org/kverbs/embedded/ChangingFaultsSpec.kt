package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.time.Duration
import kotlin.random.Random

private const val MTU = 256L
private const val SLOT = 128 * MTU
private const val REQUESTS = 8
private const val HALF = REQUESTS * SLOT
private const val COUNTER = 2 * HALF
private const val NUMBER = COUNTER + 8
private const val SEEDS = 50
private const val ROUNDS = 20
private const val MOST_POLLS = 100_000

/** Retries after 4 ms, seven times. */
private val options =
    ConnectOptions
        .builder()
        .timeout(10)
        .retryCount(7)
        .rnrRetry(7)
        .pathMtu(Mtu.MTU_256)
        .build()

/** Checks faults that come and go while requests are under way: messages then travel whole and in packets by turns. */
class ChangingFaultsSpec :
    FunSpec({
        test(
            "should take the answer to a read that was asked for again in a smaller part, when it comes in one piece",
        ) {
            Pair(EmbeddedFabric.virtual(1), QueuePairType.RC, options, COUNTER + 8).use { pair ->
                val (a, b) = pair
                a.fill(1)
                b.fill(2)
                val late = Duration.ofMillis(6)
                pair.fabric.setFaults(Faults.NONE.delay(late, late))
                a.post { read(1, b.mr.remote()).into(a.mr.slice(0, 128 * MTU)).signaled() }
                // The first request is still in flight when the second one, for half the data, goes out.
                pair.fabric.clock().advance(Duration.ofMillis(5))
                pair.fabric.setFaults(Faults.NONE)
                a.take(1).single().status() shouldBe SUCCESS
                a.bytes(0, 128 * MTU) shouldBe b.bytes(0, 128 * MTU)
            }
        }

        for (seed in 1..SEEDS) {
            test("should do every request once and right while faults come and go, seed $seed") {
                val features = setOf(Feature.ATOMIC_WRITE, Feature.FLUSH)
                val fabric = EmbeddedFabric.virtual(seed.toLong())
                Pair(fabric, QueuePairType.RC, options, NUMBER + 8, features = features).use { pair ->
                    val random = Random(seed)
                    pair.a.fill(seed)
                    pair.b.fill(-seed)
                    repeat(ROUNDS) { ChangingFaultsRound(pair, random).run() }
                }
            }
        }
    })

/** Sends requests of all kinds from one end to the other; their results go to the upper halves of the memory. */
private class ChangingFaultsRound(
    private val pair: Pair,
    private val random: Random,
) {
    private val kinds = List(random.nextInt(1, REQUESTS + 1)) { random.nextInt(6) }
    private val sizes = kinds.map { if (random.nextBoolean()) random.nextLong(SLOT + 1) else random.nextLong(2 * MTU) }

    fun run() {
        val (a, b) = pair
        val counter = b.mr.remote().at(COUNTER)
        b.mr.memory().set(JAVA_LONG, COUNTER, 0)
        b.mr.memory().set(JAVA_LONG, NUMBER, 0)
        kinds.forEachIndexed { i, kind ->
            if (kind == 0) {
                b.qp.postReceive(i.toLong(), b.mr.slice(HALF + i * SLOT, SLOT))
            }
        }
        a.post {
            kinds.forEachIndexed { i, kind ->
                val from = a.mr.slice(i * SLOT, sizes[i])
                when (kind) {
                    0 -> {
                        send(i.toLong()).from(from)
                    }

                    1 -> {
                        write(i.toLong(), b.mr.remote().at(HALF + i * SLOT)).from(from)
                    }

                    2 -> {
                        read(i.toLong(), b.mr.remote().at(i * SLOT)).into(a.mr.slice(HALF + i * SLOT, sizes[i]))
                    }

                    3 -> {
                        atomicWrite(i.toLong(), b.mr.remote().at(NUMBER), i + 1L)
                    }

                    4 -> {
                        flush(i.toLong(), b.mr.remote().slice(0, sizes[i]), FlushPlacement.GLOBAL)
                    }

                    else -> {
                        fetchAndAdd(
                            i.toLong(),
                            counter,
                            1,
                        ).into(a.mr.slice(HALF + i * SLOT, Long.SIZE_BYTES.toLong()))
                    }
                }.signaled()
            }
        }
        awaitAll()
        var added = 0L
        kinds.forEachIndexed { i, kind ->
            val at = HALF + i * SLOT
            withClue("request $i of $kinds, $sizes") {
                when (kind) {
                    0, 1 -> b.bytes(at, sizes[i]) shouldBe a.bytes(i * SLOT, sizes[i])

                    2 -> a.bytes(at, sizes[i]) shouldBe b.bytes(i * SLOT, sizes[i])

                    3, 4 -> Unit

                    // below
                    else -> a.mr.memory().get(JAVA_LONG, at) shouldBe added++
                }
            }
        }
        b.mr.memory().get(JAVA_LONG, COUNTER) shouldBe added
        b.mr.memory().get(JAVA_LONG, NUMBER) shouldBe kinds.lastIndexOf(3) + 1L
    }

    /**
     * Polls both ends until all requests are done, and changes the faults now and then; each empty poll lets the next
     * event happen.
     */
    private fun awaitAll() {
        val sent = ArrayList<WorkCompletion>()
        val received = ArrayList<WorkCompletion>()
        var polls = 0
        while (sent.size < kinds.size || received.size < kinds.count { it == 0 }) {
            withClue("$kinds, $sizes: $sent, $received") { (polls++ < MOST_POLLS) shouldBe true }
            if (random.nextInt(8) == 0) pair.fabric.setFaults(faults())
            sent += pair.a.poll(REQUESTS)
            received += pair.b.poll(REQUESTS)
            withClue("$kinds, $sizes") { (sent + received).forEach { it.status() shouldBe SUCCESS } }
        }
        sent.map { it.workRequestId() } shouldBe kinds.indices.map { it.toLong() }
        received.map { it.workRequestId() } shouldBe kinds.indices.filter { kinds[it] == 0 }.map { it.toLong() }
    }

    private fun faults(): Faults =
        when (random.nextInt(6)) {
            0 -> Faults.NONE.loss(0.05)
            1 -> Faults.NONE.delay(Duration.ZERO, Duration.ofMillis(6))
            2 -> Faults.NONE.duplication(0.2).reordering(0.2)
            3 -> Faults.BAD_LINE
            else -> Faults.NONE
        }
}
