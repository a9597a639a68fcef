package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.internal.abi.Errno

/**
 * Tests the exceptions of requests that a driver refuses. mlx5 and mlx4 answer ENOMEM for a full queue, for too many
 * entries and for too long inline data alike.
 */
class RefusedPostSpec :
    FunSpec({
        onNullDevice()

        listOf(Errno.ENOMEM, Errno.EAGAIN).forEach { errno ->
            test("should name the limit that a send request exceeds, and not take errno $errno for a full queue") {
                NullBench().use { bench ->
                    val qp = bench.queuePair(QueuePairCapabilities(16, 16, 2, 1, 32))
                    val slice = bench.mr.slice(0, 64)
                    mapOf<String, SendRequests.() -> Unit>(
                        "3 scatter/gather entries, and max_send_sge is 2" to { write(2, 0x1000, 7).gather(3, slice) },
                        "64 bytes of inline data, and max_inline_data is 32" to { send(2).inline(slice) },
                        "33 bytes of inline data, and max_inline_data is 32" to
                            { send(2).inline(ByteArray(32)).inline(ByteArray(1)) },
                    ).forEach { (limit, bad) ->
                        val list = SendRequests().apply { send(1).from(slice) }.apply(bad).apply { send(3).from(slice) }
                        refuse(at = 1, errno)
                        listOf({ qp.tryPost(list) }, { qp.post(list) }).forEach { post ->
                            val refusal = shouldThrow<WorkRequestException> { post() }
                            refusal.message shouldContain limit
                            refusal.errnoName() shouldBe "EINVAL"
                            refusal.index() shouldBe 1
                            refusal.count() shouldBe 3
                        }
                    }
                }
            }
        }

        test("should refuse a request that is posted without a list as one that is in a list") {
            NullBench().use { bench ->
                val qp = bench.queuePair(QueuePairCapabilities(16, 16, 1, 1, 0))
                val slice = bench.mr.slice(0, 64)
                val remote = bench.mr.remote()
                listOf(
                    { qp.postSend(1, slice) } to { it: SendRequests -> it.send(1) },
                    { qp.postWrite(1, slice, remote) } to { it: SendRequests -> it.write(1, remote) },
                    { qp.postRead(1, slice, remote) } to { it: SendRequests -> it.read(1, remote) },
                ).forEach { (single, begin) ->
                    listOf(Errno.ENOMEM, Errno.EINVAL).forEach { errno ->
                        refuse(at = 0, errno)
                        val listed = SendRequests().also { begin(it).from(slice).signaled() }
                        val expected = shouldThrow<WorkRequestException> { qp.post(listed) }
                        val refusal = shouldThrow<WorkRequestException> { single() }
                        refusal.message shouldBe expected.message
                        refusal.errnoName() shouldBe expected.errnoName()
                    }
                }
            }
        }

        test("should take ENOMEM for a full queue where the request is within every limit") {
            NullBench().use { bench ->
                val qp = bench.queuePair(QueuePairCapabilities(16, 16, 2, 2, 64))
                val slice = bench.mr.slice(0, 64)
                refuse(at = 1, Errno.ENOMEM)
                qp.tryPost(SendRequests().apply { repeat(2) { write(1, 0x1000, 7).gather(2, slice) } }) shouldBe 1
                qp.tryPost(SendRequests().apply { repeat(2) { send(1).inline(slice) } }) shouldBe 1
            }
        }

        test("should say that a queue pair without a send queue takes no send request") {
            NullBench().use { bench ->
                val qp = bench.queuePair(QueuePairCapabilities(0, 16, 1, 1, 0))
                refuse(at = 0, Errno.ENOMEM)
                val refusal = shouldThrow<WorkRequestException> { qp.tryPost(SendRequests().send(1)) }
                refusal.message shouldContain "max_send_wr 0"
            }
        }

        test("should name the limit that a receive request exceeds") {
            NullBench().use { bench ->
                val qp = bench.queuePair(QueuePairCapabilities(16, 16, 1, 2, 0))
                val srq = bench.sharedReceiveQueue()
                val slice = bench.mr.slice(0, 64)
                val list = ReceiveRequests().receive(1).into(slice).receive(2).into(slice).into(slice).into(slice)
                refuse(at = 1, Errno.ENOMEM)
                mapOf(
                    "3 scatter/gather entries, and max_recv_sge is 2" to { qp.postReceive(list) },
                    "3 scatter/gather entries, and max_sge is 1" to { srq.postReceive(list) },
                ).forEach { (limit, post) ->
                    val refusal = shouldThrow<WorkRequestException> { post() }
                    refusal.message shouldContain limit
                    refusal.errnoName() shouldBe "EINVAL"
                    refusal.index() shouldBe 1
                }
                refuse(at = 0, Errno.ENOMEM)
                val full = shouldThrow<WorkRequestException> { qp.postReceive(1, slice) }
                full.message shouldContain "The receive queue is full"
            }
        }

        test("should say that a list is too long for an extended queue pair, which takes all of it or none") {
            NullBench().use { bench ->
                val qp = bench.extendedQueuePair(QueuePairCapabilities(2, 2, 1, 1, 0))
                val list = SendRequests().apply { repeat(3) { send(it.toLong()) } }
                NullVerbs.set(NullVerbs.Option.REFUSE_AT, 2)
                NullVerbs.set(NullVerbs.Option.REFUSE_ERRNO, Errno.ENOMEM)
                shouldThrow<WorkRequestException> { qp.tryPost(list) }.message shouldContain "The list has 3 requests"
            }
        }

        test("should count no request of an earlier post as accepted when the driver names none") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                val slice = bench.mr.slice(0, 64)
                val sends = SendRequests().apply { repeat(8) { send(it.toLong()).from(slice) } }
                val receives = ReceiveRequests().apply { repeat(8) { receive(it.toLong()).into(slice) } }
                refuse(at = 5, Errno.ENOMEM)
                qp.tryPost(sends) shouldBe 5
                shouldThrow<WorkRequestException> { qp.postReceive(receives) }.index() shouldBe 5
                NullVerbs.set(NullVerbs.Option.NAMELESS, 1)
                refuse(at = 0, Errno.ENOMEM)
                withClue("sends") { qp.tryPost(sends) shouldBe 0 }
                withClue("receives") {
                    shouldThrow<WorkRequestException> { qp.postReceive(receives) }.index() shouldBe 0
                }
            }
        }
    })

/** Adds the same entry so many times. */
private fun SendRequests.gather(
    times: Int,
    slice: MemorySlice,
) {
    repeat(times) { from(slice) }
}

private fun refuse(
    at: Int,
    errno: Int,
) {
    NullVerbs.set(NullVerbs.Option.REFUSE_AT, at)
    NullVerbs.set(NullVerbs.Option.REFUSE_ERRNO, errno)
}
