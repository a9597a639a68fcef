package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.MemoryWindow
import org.kverbs.RdmaSystemException
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.BIND_MW
import org.kverbs.WorkCompletionOpcode.LOCAL_INV
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus.MW_BIND_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.CHECKS_WINDOW_BOUNDS
import org.kverbs.acceptance.contract.Capability.EXTENDED_QUEUES
import org.kverbs.acceptance.contract.Capability.MEMORY_WINDOWS
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.acceptance.contract.Capability.REPORTS_INVALIDATED_KEY
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.AccessFlag.mask
import org.kverbs.attributes.MemoryWindowType.TYPE_1
import org.kverbs.attributes.MemoryWindowType.TYPE_2
import org.kverbs.attributes.MemoryWindowType.UNKNOWN

/** Checks keys for a part of a region that come and go on the data path. */
internal class MemoryWindowSpec :
    ContractSpec({
        case(
            "should admit the peer to the bytes of a type 1 window until it is bound to nothing",
            RAW_CONNECT,
            MEMORY_WINDOWS,
        ) {
            val (a, b) = linked()
            val window = pd.memoryWindow(TYPE_1)
            val before = window.rkey()
            window.bind(b.qp, 5, b.mr, 100, 200, REMOTE_WRITE, REMOTE_READ)
            b.cq.takeOne().shouldBeDone(5, BIND_MW, b.qp)
            window.rkey() shouldNotBe before
            val remote = window.remote(b.mr.slice(100, 200), window.rkey())
            a.post { write(1, remote).inline(pattern(50)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.bytes(50, 100) shouldBe pattern(50)

            window.bind(b.qp, 6, b.mr, 0, 0)
            b.cq.takeOne().shouldBeDone(6, BIND_MW, b.qp)
            a.post { write(2, remote).inline(pattern(50, seed = 2)).signaled() }
            a.cq.takeOne().shouldHaveFailed(2, REM_ACCESS_ERR, a.qp)
            b.mr.bytes(50, 100) shouldBe pattern(50)
        }

        case(
            "should admit the peer to the bytes of a type 2 window, and not beyond",
            RAW_CONNECT,
            MEMORY_WINDOWS,
        ) {
            val (a, b) = linked()
            b.mr.put(pattern(400))
            val (_, remote) = boundWindow(b)
            a.post { read(1, remote).into(a.mr.slice(0, 200)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_READ, a.qp, bytes = 200)
            a.mr.bytes(200) shouldBe pattern(400).copyOfRange(100, 300)
            a.post { read(2, remote.address() + 1, remote.rkey()).into(a.mr.slice(0, 200)).signaled() }
            if (CHECKS_WINDOW_BOUNDS in device.capabilities) {
                a.cq.takeOne().shouldHaveFailed(2, REM_ACCESS_ERR, a.qp)
            } else {
                a.cq.takeOne().shouldBeDone(2, RDMA_READ, a.qp, bytes = 200)
                a.post { read(3, b.mr.address() + b.mr.length(), remote.rkey()).into(a.mr.slice(0, 200)) }
                a.cq.takeOne().shouldHaveFailed(3, REM_ACCESS_ERR, a.qp)
            }
        }

        case(
            "should admit by a type 2 window the peer of the queue pair that bound it, and no other",
            RAW_CONNECT,
            MEMORY_WINDOWS,
        ) {
            val (a, b) = linked()
            val (other, same) = linked() // in the same domain
            val memory = memory(4096, LOCAL_WRITE, MW_BIND)
            val window = pd.memoryWindow(TYPE_2)
            val rkey = MemoryWindow.nextRkey(window.rkey())
            b.post { bind(5, window, rkey, memory.slice(0, 4096), mask(REMOTE_READ, REMOTE_WRITE)).signaled() }
            b.cq.takeOne().shouldBeDone(5, BIND_MW, b.qp)
            val remote = window.remote(memory.slice(0, 4096), rkey)
            a.post { write(1, remote).inline(pattern(8)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            memory.bytes(8, 0) shouldBe pattern(8)
            other.post { write(2, remote).inline(pattern(8, seed = 2)) }
            other.cq.takeOne().shouldHaveFailed(2, REM_ACCESS_ERR, other.qp)
            memory.bytes(8, 0) shouldBe pattern(8)
            // Nor by the region's own key, since it was registered for this side only.
            a.post { read(3, memory.remote()).into(a.mr.slice(0, 8)) }
            a.cq.takeOne().shouldHaveFailed(3, REM_ACCESS_ERR, a.qp)
            same.qp.isOpen shouldBe true
        }

        case("should refuse a write through a window that was bound for reading only", RAW_CONNECT, MEMORY_WINDOWS) {
            val (a, b) = linked()
            val (_, remote) = boundWindow(b, mask(REMOTE_READ))
            a.post { write(1, remote).inline(pattern(8)) }
            a.cq.takeOne().shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
            b.mr.bytes(8, 100) shouldBe ByteArray(8)
        }

        case(
            "should refuse a write through a window that extended calls bound for reading only",
            MEMORY_WINDOWS,
            EXTENDED_QUEUES,
        ) {
            val (a, b) = linked(a = extendedEnd(), b = extendedEnd())
            val (_, remote) = boundWindow(b, mask(REMOTE_READ))
            a.post { write(1, remote).inline(pattern(8)) }
            a.cq.takeOne().shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
            b.mr.bytes(8, 100) shouldBe ByteArray(8)
        }

        case("should refuse a write through a window that was deallocated", RAW_CONNECT, MEMORY_WINDOWS) {
            val (a, b) = linked()
            val (window, remote) = boundWindow(b)
            a.post { write(1, remote).inline(pattern(8)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            window.close()
            a.post { write(2, remote).inline(pattern(8, seed = 2)) }
            a.cq.takeOne().shouldHaveFailed(2, REM_ACCESS_ERR, a.qp)
            b.mr.bytes(8, 100) shouldBe pattern(8)
        }

        case("should end a type 2 window's key by a local invalidate", RAW_CONNECT, MEMORY_WINDOWS) {
            val (a, b) = linked()
            val (_, remote) = boundWindow(b)
            b.post { localInvalidate(6, remote.rkey()).signaled() }
            b.cq.takeOne().shouldBeDone(6, LOCAL_INV, b.qp)
            a.post { write(1, remote).inline(pattern(8)) }
            a.cq.takeOne().shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
        }

        case("should end a type 2 window's key by the peer's send with invalidate", RAW_CONNECT, MEMORY_WINDOWS) {
            val (a, b) = linked()
            val (_, remote) = boundWindow(b)
            b.qp.postReceive(7, b.mr.slice(1000, 100))
            a.post { sendWithInvalidate(1, remote.rkey()).inline(pattern(30)).signaled() }
            a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
            val received = b.cq.takeOne()
            received.shouldBeDone(7, RECV, b.qp, bytes = 30)
            received.hasInvalidatedRkey() shouldBe (REPORTS_INVALIDATED_KEY in device.capabilities)
            if (received.hasInvalidatedRkey()) received.invalidatedRkey() shouldBe remote.rkey()
            b.mr.bytes(30, 1000) shouldBe pattern(30)
            a.post { write(2, remote).inline(pattern(8)) }
            a.cq.takeOne().shouldHaveFailed(2, REM_ACCESS_ERR, a.qp)
        }

        case(
            "should bind a type 2 window again after it was invalidated, under the next key",
            RAW_CONNECT,
            MEMORY_WINDOWS,
        ) {
            val (a, b) = linked()
            val (window, remote) = boundWindow(b)
            window.rkey() shouldBe remote.rkey()
            val next = MemoryWindow.nextRkey(remote.rkey())
            next shouldNotBe remote.rkey()
            b.post {
                localInvalidate(6, remote.rkey()).signaled()
                bind(7, window, next, b.mr.slice(500, 100), mask(REMOTE_WRITE)).signaled()
            }
            val (ended, bound) = b.cq.take(2)
            ended.shouldBeDone(6, LOCAL_INV, b.qp)
            bound.shouldBeDone(7, BIND_MW, b.qp)
            a.post { write(1, window.remote(b.mr.slice(500, 100), next)).inline(pattern(8)).signaled() }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.bytes(8, 500) shouldBe pattern(8)
        }

        case("should refuse to bind a type 2 window by the call for type 1", RAW_CONNECT, MEMORY_WINDOWS) {
            val (_, b) = linked()
            val window = pd.memoryWindow(TYPE_2)
            val refusal = shouldThrow<WorkRequestException> { window.bind(b.qp, 5, b.mr, 0, 100, REMOTE_READ) }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.message shouldContain "type 1"
        }

        case("should refuse to bind a type 1 window by a work request", RAW_CONNECT, MEMORY_WINDOWS) {
            val (_, b) = linked()
            val window = pd.memoryWindow(TYPE_1)
            val refusal =
                shouldThrow<IllegalArgumentException> {
                    b.post { bind(5, window, window.rkey(), b.mr.slice(0, 100), mask(REMOTE_READ)) }
                }
            refusal.message shouldContain "TYPE_1"
        }

        case("should fail to bind a window to a region without MW_BIND", RAW_CONNECT, MEMORY_WINDOWS) {
            val (_, b) = linked()
            val plain = memory(4096, LOCAL_WRITE)
            val window = pd.memoryWindow(TYPE_2)
            b.post {
                bind(
                    5,
                    window,
                    MemoryWindow.nextRkey(window.rkey()),
                    plain.slice(0, 100),
                    mask(REMOTE_READ),
                ).signaled()
            }
            b.cq.takeOne().shouldHaveFailed(5, device.localError(MW_BIND_ERR), b.qp)
        }

        case("should refuse a window of an unknown type", MEMORY_WINDOWS) {
            shouldThrow<RdmaSystemException> { pd.memoryWindow(UNKNOWN) }.errnoName() shouldBe "EINVAL"
        }

        case("should make many windows and deallocate them in any order", MEMORY_WINDOWS) {
            val windows = List(20) { pd.memoryWindow(if (it % 2 == 0) TYPE_1 else TYPE_2) }
            windows.sortedBy { it.rkey() xor 0x5a00 }.forEach { it.close() }
            windows.forEach { it.isOpen shouldBe false }
        }
    })

/** Makes a type 2 window, bound to 200 bytes from offset 100 on, and what the peer needs to use it. */
private fun Bench.boundWindow(
    end: End,
    access: Int = mask(REMOTE_READ, REMOTE_WRITE),
): Pair<MemoryWindow, RemoteMemory> {
    val window = pd.memoryWindow(TYPE_2)
    val rkey = MemoryWindow.nextRkey(window.rkey())
    val bound = end.mr.slice(100, 200)
    end.post { bind(99, window, rkey, bound, access).signaled() }
    end.cq.takeOne().shouldBeDone(99, BIND_MW, end.qp)
    return window to window.remote(bound, rkey)
}
