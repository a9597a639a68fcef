package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_INV_REQ_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.CountedOperation
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.MemorySegment
import java.time.Duration

private const val STEP = 1L shl 20
private const val BYTES = 4 * STEP
private const val LEAST = 32L shl 10

/** Makes a pair on the real clock, with other bytes at each end. */
private fun pair(options: ConnectOptions = ConnectOptions.DEFAULTS): Pair =
    Pair(EmbeddedFabric.realTime(1), options = options, bytes = BYTES).also {
        it.a.fill(1)
        it.b.fill(2)
    }

/** Checks long reads, which copy without the lock, by one thread. */
class EarlyReadSpec :
    FunSpec({
        fun Pair.made() = fabric.engine().copies().made()

        /** So many copies, if this machine has a processor for another thread. */
        fun Pair.expected(copies: Long) = if (fabric.engine().copies().arePossible()) copies else 0

        /** Posts a read of some bytes into a region and returns the status of its completion. */
        fun Pair.read(
            into: MemoryRegion,
            from: MemoryRegion,
            bytes: Long,
        ) = a
            .apply { post { read(1, from.remote()).into(into.slice(0, bytes)).signaled() } }
            .await(1)
            .single()
            .status()

        for ((bytes, copies) in mapOf(
            LEAST - 1 to 0L,
            LEAST to 1L,
            STEP + 1 to 1L, // the last byte is not long
            3 * STEP to 3L,
            4 * STEP - 4096 to 4L,
        )) {
            test("should read $bytes bytes, and no other, by $copies copies without the lock") {
                pair().use { pair ->
                    val rest = pair.a.bytes(bytes, BYTES - bytes)
                    pair.read(pair.a.mr, pair.b.mr, bytes) shouldBe SUCCESS
                    pair.a.bytes(0, bytes) shouldBe pair.b.bytes(0, bytes)
                    pair.a.bytes(bytes, BYTES - bytes) shouldBe rest
                    pair.made() shouldBe pair.expected(copies)
                }
            }
        }

        test("should count a read of several steps once, without a copy outside of the lock") {
            pair().use { pair ->
                val counter = pair.b.context.completionCounter()
                pair.a.qp.close()
                val qp = pair.b.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, pair.b.cq))
                val near = pair.a.pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, pair.a.cq))
                counter.attach(qp, CountedOperation.REMOTE_RDMA_READ)
                near.connect(qp.endpoint())
                qp.connect(near.endpoint())
                near.postRead(1, pair.a.mr.slice(0, 3 * STEP), pair.b.mr.address(), pair.b.mr.rkey())
                pair.a.await(1).single().orThrow()
                counter.read() shouldBe 1
                pair.made() shouldBe 0
                pair.a.bytes(0, 3 * STEP) shouldBe pair.b.bytes(0, 3 * STEP)
            }
        }

        test("should read into memory that lies in several entries, by copies of the steps that lie in one") {
            pair().use { pair ->
                pair.a.post {
                    read(1, pair.b.mr.remote())
                        .into(pair.a.mr.slice(0, STEP))
                        .into(pair.a.mr.slice(STEP, STEP / 2))
                        .into(pair.a.mr.slice(2 * STEP, STEP))
                        .signaled()
                }
                pair.a.await(1).single().orThrow()
                pair.a.bytes(0, 3 * STEP / 2) shouldBe pair.b.bytes(0, 3 * STEP / 2)
                pair.a.bytes(2 * STEP, STEP) shouldBe pair.b.bytes(3 * STEP / 2, STEP)
                pair.made() shouldBe pair.expected(1)
            }
        }

        for ((what, access, size) in listOf(
            Triple("that peers may not read", AccessFlag.REMOTE_WRITE, BYTES),
            Triple("that is too short", AccessFlag.REMOTE_READ, BYTES - 1),
        )) {
            test("should refuse a long read of a region $what, and change nothing at the reader") {
                pair().use { pair ->
                    val own = pair.a.bytes()
                    val from = pair.b.pd.memoryRegion(size, AccessFlag.LOCAL_WRITE, access)
                    pair.read(pair.a.mr, from, BYTES) shouldBe REM_ACCESS_ERR
                    pair.a.bytes() shouldBe own
                    pair.made() shouldBe 0
                }
            }
        }

        for ((what, options) in mapOf(
            "permits no reads" to ConnectOptions.builder().access(listOf(AccessFlag.REMOTE_WRITE)).build(),
            "serves no reads" to ConnectOptions.builder().maxDestReadAtomic(0).build(),
        )) {
            test("should refuse a long read by a queue pair that $what, and change nothing at the reader") {
                pair(options).use { pair ->
                    val own = pair.a.bytes()
                    pair.read(pair.a.mr, pair.b.mr, BYTES) shouldBe REM_INV_REQ_ERR
                    pair.a.bytes() shouldBe own
                    pair.made() shouldBe 0
                }
            }
        }

        test("should fail a long read into a region without local write access, and change nothing there") {
            pair().use { pair ->
                val into = pair.a.pd.memoryRegion(BYTES)
                pair.read(into, pair.b.mr, BYTES) shouldBe LOC_PROT_ERR
                into.memory().mismatch(MemorySegment.ofArray(ByteArray(BYTES.toInt()))) shouldBe -1
                pair.made() shouldBe 0
            }
        }

        test("should refuse a long read of a region that is closed, and fail what follows") {
            pair().use { pair ->
                val from = pair.b.pd.memoryRegion(BYTES, AccessFlag.REMOTE_READ)
                val remote = from.remote()
                val into = pair.a.mr.slice()
                pair.a.post { read(1, remote).into(into).signaled() }
                pair.a.await(1).single().orThrow()
                from.close()
                val own = pair.a.fill(3).let { pair.a.bytes() }
                pair.a.post {
                    read(2, remote).into(into).signaled()
                    read(3, pair.b.mr.remote()).into(into).signaled()
                }
                pair.a.await(2).map { it.status() } shouldBe listOf(REM_ACCESS_ERR, WR_FLUSH_ERR)
                pair.a.bytes() shouldBe own
            }
        }

        test("should carry out long reads, writes and sends, short ones between them, in their order") {
            pair(ConnectOptions.builder().maxReadAtomic(1).build()).use { pair ->
                val (a, b) = pair
                repeat(20) { round ->
                    a.fill(2 * round)
                    b.fill(2 * round + 1)
                    val first = a.bytes(0, STEP)
                    val last = b.bytes(3 * STEP, STEP)
                    b.qp.postReceive(9, b.mr.slice(STEP, STEP))
                    a.post {
                        // What each writes the next reads.
                        write(1, b.mr.remote()).from(a.mr.slice(0, STEP))
                        read(2, b.mr.remote()).into(a.mr.slice(STEP, STEP))
                        send(3).from(a.mr.slice(STEP, STEP)).fence()
                        read(4, b.mr.remote().at(STEP)).into(a.mr.slice(2 * STEP, STEP))
                        read(5, b.mr.remote().at(STEP + 8)).into(a.mr.slice(3 * STEP, 64))
                        fetchAndAdd(6, b.mr.remote().at(2 * STEP), 1).into(a.mr.slice(3 * STEP + 64, 8))
                        read(7, b.mr.remote().at(3 * STEP)).into(a.mr.slice(0, STEP))
                        write(8, b.mr.remote().at(3 * STEP)).from(a.mr.slice(2 * STEP, STEP)).fence().signaled()
                    }
                    a.await(1).single().orThrow()
                    b.await(1).single().orThrow()
                    withClue("round $round") {
                        a.bytes(0, STEP) shouldBe last
                        listOf(a.bytes(STEP, STEP), a.bytes(2 * STEP, STEP)).forEach { it shouldBe first }
                        a.bytes(3 * STEP, 64) shouldBe first.copyOfRange(8, 72)
                        listOf(0L, STEP, 3 * STEP).forEach { b.bytes(it, STEP) shouldBe first }
                    }
                }
                if (pair.expected(1) > 0) pair.made() shouldBeGreaterThan 100
            }
        }

        test("should read long from a queue pair that is its own peer") {
            EmbeddedFabric.realTime(1).use { fabric ->
                End(fabric.addDevice(), QueuePairType.RC, BYTES).use { end ->
                    end.qp.connect(end.qp.endpoint())
                    end.fill(1)
                    val right = end.bytes(0, STEP)
                    end.post { read(1, end.mr.remote()).into(end.mr.slice(STEP, STEP)).signaled() }
                    end.await(1).single().orThrow()
                    end.bytes(STEP, STEP) shouldBe right
                }
            }
        }

        for ((what, faults) in mapOf(
            "on a bad line" to Faults.BAD_LINE,
            "on a slow line" to Faults.NONE.delay(Duration.ofMillis(1)),
        )) {
            test("should copy nothing ahead of its time $what, nor anything of that time later") {
                pair(patient).use { pair ->
                    val (a, b) = pair
                    for (round in 0 until 4) {
                        a.fill(2 * round)
                        b.fill(2 * round + 1)
                        pair.fabric.setFaults(if (round % 2 == 0) faults else Faults.NONE)
                        val before = pair.made()
                        pair.read(a.mr, b.mr, BYTES / 4) shouldBe SUCCESS
                        a.bytes(0, BYTES / 4) shouldBe b.bytes(0, BYTES / 4)
                        if (round % 2 == 0) pair.made() shouldBe before
                    }
                }
            }
        }
    })
