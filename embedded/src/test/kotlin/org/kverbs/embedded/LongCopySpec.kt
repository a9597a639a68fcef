package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment

private const val BYTES = 16L shl 20
private const val MESSAGES = 8

/** The number of attempts at a race whose outcome depends on the thread scheduler. */
private const val ROUNDS = 50
private const val OTHERS = 8

/** Checks other work beside and between the steps of copies from memory to memory. */
class LongCopySpec :
    FunSpec({
        val kinds =
            mapOf<String, SendRequests.(Pair) -> Unit>(
                "writes" to { write(1, it.b.mr.remote()).from(it.a.mr.slice()) },
                "reads" to { read(1, it.b.mr.remote()).into(it.a.mr.slice()) },
            )

        for ((name, request) in kinds) {
            test("should let others work beside long $name that were posted earlier, which still arrive complete") {
                EmbeddedFabric.realTime(1).use { fabric ->
                    Pair(fabric, bytes = BYTES).use { long ->
                        val short = Pair(fabric)
                        val batch = WorkCompletions(1)

                        /**
                         * Returns how many short writes were done between the post of long requests and their
                         * completion.
                         */
                        fun others(): Int {
                            long.a.post {
                                repeat(MESSAGES) { request(long) }
                                signaled()
                            }
                            var done = 0
                            while (long.a.cq.poll(batch) == 0) {
                                short.a.post { write(2, short.b.mr.remote()).from(short.a.mr.slice(0, 8)).signaled() }
                                short.a.take(1)
                                done++
                            }
                            batch.get(0).orThrow()
                            return done
                        }
                        long.a.fill(1)
                        long.b.fill(2)
                        val most = generateSequence { others() }.take(ROUNDS).firstOrNull { it >= OTHERS }
                        withClue("rounds with $OTHERS short writes beside the long ones") {
                            (most != null) shouldBe true
                        }
                        long.a.bytes() shouldBe long.b.bytes()
                        short.a.close()
                        short.b.close()
                    }
                }
            }
        }

        /**
         * Posts a long write to a region, ends something, and returns the status of the write. No byte may be written
         * after that.
         */
        fun outcome(end: (Pair, MemoryRegion) -> Unit): WorkCompletionStatus =
            Pair(EmbeddedFabric.realTime(1), options = patient, bytes = BYTES).use { pair ->
                pair.a.fill(1)
                val memory = Arena.ofAuto().allocate(BYTES)
                val domain = pair.b.qp.protectionDomain()
                val region = domain.register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
                pair.a.post { repeat(MESSAGES) { write(1, region.remote()).from(pair.a.mr.slice()).signaled() } }
                end(pair, region)
                memory.fill(0)
                val statuses = pair.a.await(MESSAGES).map { it.status() }
                memory.mismatch(MemorySegment.ofArray(ByteArray(BYTES.toInt()))) shouldBe -1
                statuses.firstOrNull { it != SUCCESS } ?: SUCCESS
            }

        test("should not write to a region that was closed between two steps of a copy") {
            val outcomes = generateSequence { outcome { _, region -> region.close() } }.take(ROUNDS)
            outcomes.firstOrNull { it == REM_ACCESS_ERR } shouldBe REM_ACCESS_ERR
        }

        test("should not write for a queue pair that was destroyed between two steps of a copy") {
            val outcomes = generateSequence { outcome { pair, _ -> pair.b.qp.close() } }.take(ROUNDS)
            outcomes.firstOrNull { it == RETRY_EXC_ERR } shouldBe RETRY_EXC_ERR
        }
    })
