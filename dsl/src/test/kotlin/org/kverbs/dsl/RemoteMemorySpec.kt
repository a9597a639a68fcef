package org.kverbs.dsl

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests

/** An operation that takes an offset into the peer's memory. */
private class Operation(
    val name: String,
    val write: SendScope<RcVerbs>.(local: MemorySlice, remote: RemoteMemory, at: Long) -> Unit,
)

private val operations =
    listOf(
        Operation("write") { local, remote, at -> write(local, to = remote, offset = at) },
        Operation("writeInline") { local, remote, at -> writeInline(local.memory(), to = remote, offset = at) },
        Operation(
            "writeWithImmediate",
        ) { local, remote, at -> writeWithImmediate(local, to = remote, immediate = 1, offset = at) },
        Operation("read") { local, remote, at -> read(remote, into = local, offset = at) },
        Operation("compareAndSwap") { local, remote, at -> compareAndSwap(remote, 1, 2, into = local, offset = at) },
        Operation("fetchAndAdd") { local, remote, at -> fetchAndAdd(remote, 1, into = local, offset = at) },
    )

/** The operations that a plain queue pair does not take; they are only written here. */
private val placements =
    listOf(
        Operation("atomicWrite") { _, remote, at -> atomicWrite(1, to = remote, offset = at) },
        Operation("flush") { _, remote, at -> flush(remote, offset = at, length = 8) },
    )

internal class RemoteMemorySpec :
    FunSpec({
        val remote = RemoteMemory(0x1000, 64, 7)

        test("should cut remote memory off at an offset, up to its end, and no further") {
            remote.at(0) shouldBe remote
            remote.at(16) shouldBe RemoteMemory(0x1010, 48, 7)
            remote.at(64) shouldBe RemoteMemory(0x1040, 0, 7)
            listOf(65, -1, Long.MAX_VALUE, Long.MIN_VALUE).forEach {
                withClue(it) { shouldThrow<IndexOutOfBoundsException> { remote.at(it) } }
            }
        }

        operations.forEach { operation ->
            test(
                "should refuse a ${operation.name} outside the remote memory, name the offset, and post nothing of " +
                    "the block",
            ) {
                onNullDevice { context ->
                    val pd = context.protectionDomain()
                    val cq = context.completionQueue { }
                    val local = pd.memoryRegion(8) { }.slice()
                    val qp = pd.qp(RC) { cq(cq) }

                    fun postAt(offset: Long) =
                        qp.post {
                            sendEmpty(id = offset).signaled()
                            operation.write(this, local, remote, offset)
                        }
                    listOf(65, -1, Long.MAX_VALUE, Long.MIN_VALUE).forEach {
                        shouldThrow<IndexOutOfBoundsException> { postAt(it) }.message shouldBe
                            "offset $it is outside the remote memory of 64 bytes"
                    }
                    shouldThrow<IndexOutOfBoundsException> { postAt(57) }.message shouldBe
                        "8 bytes at offset 57 reach beyond the remote memory of 64 bytes"
                    listOf(0L, 56L).forEach { postAt(it) }
                    val posted = mutableListOf<Long>()
                    cq.poll { posted += it.workRequestId() }
                    posted shouldBe listOf(0L, 56L)
                }
            }
        }

        placements.forEach { operation ->
            test("should refuse to write a ${operation.name} outside the remote memory, and name the offset") {
                onNullDevice { context ->
                    val pd = context.protectionDomain()
                    val cq = context.completionQueue { }
                    val local = pd.memoryRegion(8) { }.slice()
                    val qp = pd.qp(RC) { cq(cq) }
                    val list = SendRequests()

                    fun writeAt(offset: Long) = qp.compose(list) { operation.write(this, local, remote, offset) }
                    listOf(65, -1, Long.MAX_VALUE, Long.MIN_VALUE).forEach {
                        shouldThrow<IndexOutOfBoundsException> { writeAt(it) }.message shouldBe
                            "offset $it is outside the remote memory of 64 bytes"
                    }
                    shouldThrow<IndexOutOfBoundsException> { writeAt(57) }.message shouldBe
                        "8 bytes at offset 57 reach beyond the remote memory of 64 bytes"
                    listOf(0L, 56L).forEach { writeAt(it) }
                    list.size() shouldBe 2
                }
            }
        }

        test("should post an empty write at the end of the remote memory") {
            onNullDevice { context ->
                val cq = context.completionQueue { }
                val qp = context.protectionDomain().qp(RC) { cq(cq) }
                qp.post { writeEmpty(remote, offset = 64).signaled() }
                shouldThrow<IndexOutOfBoundsException> { qp.post { writeEmpty(remote, offset = 65) } }
                cq.poll { } shouldBe 1
            }
        }
    })
