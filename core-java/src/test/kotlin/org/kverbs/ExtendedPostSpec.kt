package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.internal.abi.IbvSendFlags
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.nio.channels.FileChannel
import java.nio.file.Path
import java.nio.file.StandardOpenOption
import kotlin.io.path.createTempFile
import kotlin.io.path.deleteExisting

/** Tests posting by extended calls. A driver holds a lock between their start and their end. */
class ExtendedPostSpec :
    FunSpec({
        onNullDevice()

        test("should post a list by extended calls and poll its completions by them") {
            NullBench().use { bench ->
                NullVerbs.set(NullVerbs.Option.COMPLETE, 1)
                val cq = bench.extendedCompletionQueue()
                val qp = bench.extendedQueuePair(cq = cq)
                qp.post(SendRequests().apply { repeat(3) { send(it.toLong()).from(bench.mr.slice()).signaled() } })
                val batch = WorkCompletions(8)
                cq.poll(batch) shouldBe 3
                List(3) { batch.get(it).workRequestId() } shouldBe listOf(0L, 1L, 2L)
            }
        }

        test("should release the queue pair when something throws between the start and the end of a post") {
            val file = createTempFile("truncated")
            try {
                Arena.ofShared().use { arena ->
                    val gone = mappedAndTruncated(file, arena)
                    NullBench().use { bench ->
                        val qp = bench.extendedQueuePair(QueuePairCapabilities(8, 8, 4, 1, 64))
                        // Java gathers two entries, and its copy meets the missing page
                        val bad = SendRequests().send(1).entry(gone.address(), 8, 0).entry(gone.address() + 8, 8, 0)
                        shouldThrow<InternalError> { qp.post(bad.flag(IbvSendFlags.IBV_SEND_INLINE)) }
                        NullVerbs.aborted(qp) shouldBe 1
                        qp.post(SendRequests().send(2).from(bench.mr.slice())) // would spin on the lock without end
                    }
                }
            } finally {
                file.deleteExisting()
            }
        }
    })

/** Returns memory that is mapped from a file which was shortened afterwards. */
private fun mappedAndTruncated(
    file: Path,
    arena: Arena,
): MemorySegment =
    FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE).use { channel ->
        val mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, 4096, arena)
        channel.truncate(0)
        mapped
    }
