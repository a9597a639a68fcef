package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.WorkCompletions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.Gids
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.embedded.internal.transport.Inside
import org.kverbs.embedded.internal.wire.Packet
import java.time.Duration
import kotlin.random.Random

/**
 * Sends damaged packets to a device: 200,000, or the number in the system property fuzz.count. The property fuzz.seed
 * repeats a run. `embedded/fuzz` sends ten million.
 */
class FuzzSpec :
    FunSpec({
        timeout = 14_400_000 // Kotest's ten minutes are too short for the long run on a slow machine.
        invocationTimeout = timeout
        val count = System.getProperty("fuzz.count", "200000").toLong()
        val seed = System.getProperty("fuzz.seed")?.toLong() ?: System.nanoTime()

        test(
            "should take damaged packets without a crash, a stray byte, a leak or more work than they ask for (seed " +
                "$seed)",
        ) {
            println("fuzz: $count packets, fuzz.seed=$seed")
            Fuzz(seed).run(count)
        }
    }) {
    companion object {
        val SELF: Gid = Gid(0, 0xffff_c612_0001)
        val PEER: Gid = Gid(0, 0xffff_c612_0002)
    }
}

/**
 * The most packets that the device may send for one packet or one timer: the window again, another one that was
 * acknowledged, and an answer.
 */
private const val MOST_SENT = 2L * FuzzLink.WINDOW + 2
private const val CHECKED = 1_000L
private const val COMPLETIONS = 4096

private class Fuzz(
    seed: Long,
) {
    private val random = Random(seed)
    private val engine = Engine(true).also { it.onFailure { failure -> throw failure } }
    private val hca =
        Hca(
            "fuzzed",
            1,
            engine,
            Gids(FuzzSpec.SELF.subnetPrefix(), FuzzSpec.SELF.interfaceId()),
            4096,
            java.util.Random(seed),
        )
    private val link = FuzzLink { address, bytes -> memory.mayBeRead(address, bytes) }.also(hca::connect)
    private val context: Context = Device.of(EmbeddedProvider(), EmbeddedDevice(hca)).open()
    private val pd = context.protectionDomain()
    private val memory = FuzzMemory(pd, context.protectionDomain(), random)
    private val cq: CompletionQueue = context.completionQueue(COMPLETIONS)
    private val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(64, 3))
    private val inside = Inside(hca)
    private val bench = FuzzBench(pd, memory, cq, srq, inside, random)
    private val queuePairs = FuzzKind.ALL.map { FuzzQueuePair(it, bench) }
    private val packets = FuzzPackets(queuePairs, memory, random)
    private val batch = WorkCompletions(COMPLETIONS)
    private var taken = 0L
    private var completed = 0L

    fun run(count: Long) {
        val keys = inside.keys
        var heap = 0L
        for (number in 0 until count) {
            withClue({ "packet $number: ${packets.packet.describe()}" }) { one() }
            if (number % 64 == 0L) empty()
            if (number % CHECKED == 0L) memory.check()
            if (number == count / 4) heap = usedHeap()
        }
        memory.check()
        inside.queuePairs shouldBe queuePairs.size
        inside.keys shouldBe keys
        engine.scheduled() shouldBeLessThanOrEqual 2 * queuePairs.size
        withClue("bytes of heap that ${count * 3 / 4} packets cost") { usedHeap() - heap shouldBeLessThan (4L shl 20) }
        report(count)
        context.close()
        inside.queuePairs shouldBe 0
        engine.scheduled() shouldBe 0
    }

    /** Checks that packets got far: if most failed at the first check, this spec proved little. */
    private fun report(count: Long) {
        val remade = queuePairs.sumOf { it.remade }
        println("fuzz: $taken were packets, ${link.sent} sent, $completed completions, $remade queue pairs made anew")
        taken shouldBeGreaterThan count / 2
        link.sent shouldBeGreaterThan count / 10
        completed shouldBeGreaterThan count / 100
        remade shouldBeGreaterThan count / 100
    }

    private fun one() {
        val index = random.nextInt(queuePairs.size)
        val target = queuePairs[index]
        if (packets.next(index)) {
            taken++
            bounded { locked { hca.take(packets.packet) } }
            target.checkCursors()
        }
        if (!target.isInItsState || random.nextInt(500) == 0) {
            target.remake()
        } else if (random.nextInt(4) == 0) {
            target.refill()
        }
    }

    /** Takes the completions; if there are none, lets a timer expire. */
    private fun empty() {
        bounded { completed += cq.poll(batch) }
        do {
            val event = context.awaitAsyncEvent(Duration.ZERO)
        } while (event != null)
        queuePairs.filter { !it.isInItsState }.forEach(FuzzQueuePair::remake)
    }

    private inline fun bounded(action: () -> Unit) {
        link.allowed = MOST_SENT
        action()
        link.allowed = Long.MAX_VALUE
    }

    private inline fun locked(action: () -> Unit) {
        engine.enter()
        try {
            action()
        } finally {
            engine.leave()
        }
    }

    /**
     * Returns the used heap when it no longer shrinks: the cleaner of native memory, of which each queue pair has some,
     * is a thread with its own pace.
     */
    private fun usedHeap(): Long {
        var used = Long.MAX_VALUE
        repeat(100) {
            val before = used
            System.gc()
            Thread.sleep(20)
            used = Runtime.getRuntime().run { totalMemory() - freeMemory() }
            if (before < used + (1 shl 16)) return used
        }
        return used
    }
}

private fun Packet.describe() =
    "opcode 0x%02x psn %d to queue pair %d, %d bytes, address 0x%x key 0x%x length %d".format(
        opcode,
        psn,
        destinationQp,
        payloadLength,
        remoteAddress,
        rkey,
        Integer.toUnsignedLong(dmaLength),
    )
