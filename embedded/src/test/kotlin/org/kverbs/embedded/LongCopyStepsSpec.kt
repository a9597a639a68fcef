package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.RateLimit
import java.lang.foreign.MemorySegment
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicLong
import kotlin.concurrent.thread

/** Three steps of a copy without the lock. */
private const val BYTES = 3L shl 20
private const val ROUNDS = 20

/** Checks messages of several steps that are copied without the lock, beside other work on the same fabric. */
class LongCopyStepsSpec :
    FunSpec({
        timeout = 120_000

        /** Writes and polls on another connection of the fabric, on a thread of its own, while [work] runs. */
        fun besideOthers(
            fabric: EmbeddedFabric,
            work: () -> Unit,
        ): Long {
            val isOver = AtomicBoolean()
            val done = AtomicLong()
            val other =
                thread(isDaemon = true) {
                    val short = Pair(fabric)
                    while (!isOver.get()) {
                        short.a.post { write(2, short.b.mr.remote()).from(short.a.mr.slice(0, 8)).signaled() }
                        short.a.await(1).single().orThrow()
                        done.incrementAndGet()
                    }
                    short.a.close()
                    short.b.close()
                }
            while (done.get() == 0L) Thread.onSpinWait()
            try {
                work()
            } finally {
                isOver.set(true)
                other.join()
            }
            return done.get()
        }

        for (kind in listOf("write", "send", "read")) {
            test("should carry every byte of a $kind of several steps while another thread uses the fabric") {
                Pair(EmbeddedFabric.realTime(1), bytes = BYTES).use { pair ->
                    besideOthers(pair.fabric) {
                        repeat(ROUNDS) { round ->
                            pair.a.fill(2 * round)
                            pair.b.fill(2 * round + 1)
                            if (kind == "send") pair.b.qp.postReceive(7, pair.b.mr.slice())
                            pair.a.post {
                                when (kind) {
                                    "write" -> write(1, pair.b.mr.remote()).from(pair.a.mr.slice()).signaled()
                                    "send" -> send(1).from(pair.a.mr.slice()).signaled()
                                    else -> read(1, pair.b.mr.remote()).into(pair.a.mr.slice()).signaled()
                                }
                            }
                            pair.a.await(1).single().orThrow()
                            if (kind == "send") pair.b.await(1).single().byteLength() shouldBe BYTES
                            withClue("round $round") { pair.a.mr.memory().mismatch(pair.b.mr.memory()) shouldBe -1 }
                        }
                    }
                    val copies = pair.fabric.engine().copies()
                    if (copies.arePossible()) copies.made() shouldBeGreaterThan 0
                }
            }
        }

        test("should copy nothing ahead of its time for a queue pair with a rate, and everything when the rate ends") {
            Pair(EmbeddedFabric.realTime(1), bytes = BYTES).use { pair ->
                val copies = pair.fabric.engine().copies()
                pair.a.fill(1)
                pair.a.qp.limitRate(RateLimit.ofKbps(8_000)) // 3 s for the message
                besideOthers(pair.fabric) {
                    pair.a.post { write(1, pair.b.mr.remote()).from(pair.a.mr.slice()).signaled() }
                    copies.made() shouldBe 0
                    val last = pair.b.mr.memory().asSlice(BYTES - 8)
                    last.mismatch(MemorySegment.ofArray(ByteArray(8))) shouldBe -1
                    pair.a.qp.limitRate(RateLimit.NONE)
                    pair.a.await(1).single().orThrow()
                }
                pair.a.mr.memory().mismatch(pair.b.mr.memory()) shouldBe -1
            }
        }

        test("should not write for a receiver that is reset beside a copy, and serve both when they connect anew") {
            Pair(EmbeddedFabric.realTime(1), options = patient, bytes = BYTES).use { pair ->
                val reset = QueuePairAttributes.builder().state(QueuePairState.RESET).build()
                val (a, b) = pair
                repeat(ROUNDS) { round ->
                    a.fill(round)
                    val posting =
                        thread { a.post { repeat(4) { write(1, b.mr.remote()).from(a.mr.slice()).signaled() } } }
                    if (round % 2 == 0) Thread.yield()
                    b.qp.modify(reset)
                    b.mr.memory().fill(0)
                    posting.join()
                    // A receiver that connects anew can expect the very packets that the sender sends again.
                    a.qp.modify(reset)
                    withClue("round $round") {
                        b.mr.memory().mismatch(MemorySegment.ofArray(ByteArray(BYTES.toInt()))) shouldBe -1
                    }
                    b.qp.connect(a.qp.endpoint(patient), patient)
                    a.qp.connect(b.qp.endpoint(patient), patient)
                    while (a.poll(16).isNotEmpty()) Thread.onSpinWait()
                    a.post { write(2, b.mr.remote()).from(a.mr.slice()).signaled() }
                    a.await(1).single().orThrow()
                    a.mr.memory().mismatch(b.mr.memory()) shouldBe -1
                }
            }
        }
    })
