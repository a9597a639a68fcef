package org.kverbs.dsl

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueue
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.attributes.FlushPlacement.PERSISTENT
import org.kverbs.internal.PlacementExtensions
import org.kverbs.internal.WorkRequestArena
import org.kverbs.internal.abi.IbvSendWr
import org.kverbs.internal.memory.Memory
import org.kverbs.internal.abi.IbvSendFlags.IBV_SEND_FENCE as FENCE
import org.kverbs.internal.abi.IbvSendFlags.IBV_SEND_INLINE as INLINE
import org.kverbs.internal.abi.IbvSendFlags.IBV_SEND_SIGNALED as SIGNALED
import org.kverbs.internal.abi.IbvSendFlags.IBV_SEND_SOLICITED as SOLICITED

private val remote = RemoteMemory(0x1000, 64, 7)

private class Bench(
    val cq: CompletionQueue,
    val qp: TypedQueuePair<RcVerbs>,
    buffers: Int,
) {
    private val region = qp.queuePair.protectionDomain().memoryRegion(8 * buffers) { }
    val slices = List(buffers) { region[8 * it, 8] }

    fun completed(): List<Long> {
        val ids = mutableListOf<Long>()
        cq.poll { ids += it.workRequestId() }
        return ids
    }
}

private fun onBench(block: Bench.() -> Unit) =
    onNullDevice { context ->
        val cq = context.completionQueue { }
        val pd = context.protectionDomain()
        Bench(
            cq,
            pd.qp(RC) {
                cq(cq)
                maxSendSge(2)
            },
            buffers = 3,
        ).block()
    }

private fun SendRequests.ints(field: Int): List<Int> {
    val arena = WorkRequestArena.DOOR.of(this)
    return List(size()) { Memory.getInt(arena.at(it) + field) }
}

internal class SendRequestSpec :
    FunSpec({
        test("should make a completion of the request that is signaled, wherever it stands in the block") {
            onBench {
                qp.post {
                    val first = sendEmpty(id = 1)
                    val second = writeEmpty(to = remote, id = 2).signaled()
                    sendEmpty(id = 3)
                    first.signaled()
                    second.fence()
                }
                completed() shouldBe listOf(1L, 2L)
            }
        }

        test("should set the flags that the core's list sets") {
            onBench {
                val said = SendRequests()
                qp.compose(said) {
                    sendEmpty().solicited()
                    read(remote, into = slices[0]).fence().signaled()
                    writeEmpty(to = remote)
                    send(slices[1]).signaled().solicited().fence()
                }
                val core = SendRequests()
                core.send(0).solicited()
                core.read(0, remote).into(slices[0]).fence().signaled()
                core.write(0, remote)
                core.send(0).from(slices[1]).signaled().solicited().fence()
                said.ints(IbvSendWr.SEND_FLAGS) shouldBe core.ints(IbvSendWr.SEND_FLAGS)
            }
        }

        test("should gather a further buffer of the last request") {
            onBench {
                val list = SendRequests()
                qp.compose(list) {
                    write(slices[0], to = remote, offset = slices.size).and(slices[1])
                    send(slices[2])
                }
                list.ints(IbvSendWr.NUM_SGE) shouldBe listOf(2, 1)
            }
        }

        test("should refuse a further buffer of an earlier request, and post nothing of the block") {
            onBench {
                shouldThrow<IllegalStateException> {
                    qp.post {
                        val first = send(slices[0], id = 1).signaled()
                        send(slices[1], id = 2).signaled()
                        first.and(slices[2])
                    }
                }.message shouldBe
                    "and() adds a buffer to the last request only, and another request was begun after this one"
                completed() shouldBe emptyList()
            }
        }

        test("should set a flag of its own request if that is inline or has several buffers, and others follow") {
            onBench {
                val list = SendRequests()
                val byte = slices[0].memory().asSlice(0, 1)
                qp.compose(list) {
                    val inline = sendInline(byte)
                    val gathered = send(slices[0]).and(slices[1])
                    val last =
                        List(20) {
                            if (it % 2 == 0) writeInline(byte, to = remote) else send(slices[2]).and(slices[0])
                        }
                    gathered.fence()
                    inline.solicited()
                    last[18].signaled()
                }
                list.ints(IbvSendWr.NUM_SGE) shouldBe listOf(1, 2) + List(20) { 1 + it % 2 }
                list.ints(IbvSendWr.SEND_FLAGS) shouldBe
                    listOf(INLINE or SOLICITED, FENCE) +
                    List(20) {
                        if (it % 2 == 1) {
                            0
                        } else if (it == 18) {
                            INLINE or SIGNALED
                        } else {
                            INLINE
                        }
                    }
            }
        }

        test("should refuse a request of an earlier post") {
            onBench {
                var kept: SendRequest<RcVerbs>? = null
                qp.post { kept = sendEmpty(id = 1) }
                repeat(2) {
                    shouldThrow<IllegalStateException> {
                        qp.post {
                            sendEmpty(id = 2)
                            checkNotNull(kept).signaled()
                        }
                    }.message shouldContain "not of this post"
                    shouldThrow<IllegalStateException> {
                        qp.post {
                            sendEmpty(id = 3)
                            checkNotNull(kept).and(slices[0])
                        }
                    }.message shouldContain "not of this post"
                }
                qp.post { sendEmpty(id = 4).signaled() }
                completed() shouldBe listOf(4L)
            }
        }

        test("should refuse a request in the block of another queue pair, or of another list") {
            onBench {
                val other = qp.queuePair.protectionDomain().qp(RC) { cq(cq) }
                shouldThrow<IllegalStateException> {
                    qp.post {
                        val outer = sendEmpty(id = 1)
                        other.post {
                            sendEmpty(id = 2)
                            outer.signaled()
                        }
                    }
                }.message shouldContain "not of this post"
                qp.compose(SendRequests()) {
                    val outer = sendEmpty()
                    qp.compose(SendRequests()) {
                        sendEmpty()
                        shouldThrow<IllegalStateException> { outer.fence() }.message shouldContain "not of this post"
                    }
                    outer.fence()
                }
                completed() shouldBe emptyList()
            }
        }

        test("should refuse a request of a list that was cleared since, and take one of a list that was not") {
            onBench {
                val list = SendRequests()
                var kept: SendRequest<RcVerbs>? = null
                qp.compose(list) { kept = sendEmpty() }
                qp.compose(list) {
                    sendEmpty()
                    checkNotNull(kept).solicited()
                }
                list.ints(IbvSendWr.SEND_FLAGS) shouldBe listOf(SOLICITED, 0)
                list.clear()
                qp.compose(list) {
                    sendEmpty()
                    shouldThrow<IllegalStateException> { checkNotNull(kept).signaled() }
                }
                list.ints(IbvSendWr.SEND_FLAGS) shouldBe listOf(0)
            }
        }

        test("should flush to the end of the remote memory, a part of it, or a whole region") {
            onBench {
                val list = SendRequests()
                qp.compose(list) {
                    flush(remote)
                    flush(remote, offset = 16)
                    flush(remote, PERSISTENT, offset = 16, length = 8)
                    flushRegion(remote.rkey())
                }
                list.ints(IbvSendWr.WR_ATOMIC_REMOTE_ADDR) shouldBe listOf(0x1000, 0x1010, 0x1010, 0)
                list.ints(PlacementExtensions.LENGTH) shouldBe listOf(64, 48, 8, 0)
                list.ints(PlacementExtensions.TYPE) shouldBe listOf(1, 1, 2, 1)
                list.ints(PlacementExtensions.LEVEL) shouldBe listOf(0, 0, 0, 1)
            }
        }

        test("should take an offset as Int as it takes one as Long") {
            onBench {
                val ints = SendRequests()
                val longs = SendRequests()
                val here = slices[0]
                qp.compose(ints) {
                    val offset = 8
                    write(here, to = remote, offset = offset)
                    writeEmpty(to = remote, offset = offset)
                    writeWithImmediate(here, to = remote, immediate = 1, offset = offset)
                    writeWithImmediate(to = remote, immediate = 1, offset = offset)
                    read(remote, into = here, offset = offset)
                    compareAndSwap(remote, compare = 1, swap = 2, into = here, offset = offset)
                    fetchAndAdd(remote, add = 1, into = here, offset = offset)
                    atomicWrite(1, to = remote, offset = offset)
                }
                qp.compose(longs) {
                    val offset = 8L
                    write(here, to = remote, offset = offset)
                    writeEmpty(to = remote, offset = offset)
                    writeWithImmediate(here, to = remote, immediate = 1, offset = offset)
                    writeWithImmediate(to = remote, immediate = 1, offset = offset)
                    read(remote, into = here, offset = offset)
                    compareAndSwap(remote, compare = 1, swap = 2, into = here, offset = offset)
                    fetchAndAdd(remote, add = 1, into = here, offset = offset)
                    atomicWrite(1, to = remote, offset = offset)
                }
                val address = IbvSendWr.WR_RDMA_REMOTE_ADDR
                ints.ints(address) shouldBe longs.ints(address)
                ints.ints(address) shouldBe List(8) { 0x1008 }
            }
        }
    })
