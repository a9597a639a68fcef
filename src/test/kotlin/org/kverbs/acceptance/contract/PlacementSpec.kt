package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.MemoryRegion
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionOpcode.ATOMIC_WRITE
import org.kverbs.WorkCompletionOpcode.FLUSH
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionStatus.MW_BIND_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_INV_REQ_ERR
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.DeviceCapability
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement.GLOBAL
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairType

/** Checks the memory placement extensions of IBA volume 1, annex A19: atomic write and flush, and their failures. */
internal class PlacementSpec :
    ContractSpec({
        case("should write 8 bytes of the peer's memory and complete as an atomic write", *NEEDED) {
            val (a, b) = placing()
            b.mr.putLong(-1, 8)
            a.post { atomicWrite(7, b.mr.remote().at(16), 0x1122334455667788).signaled() }
            a.cq.takeOne().shouldBeDone(7, ATOMIC_WRITE, a.qp)
            b.mr.long(8) shouldBe -1
            b.mr.long(16) shouldBe 0x1122334455667788
            b.mr.long(24) shouldBe 0
        }

        case("should complete a flush after the write before it is in the peer's memory", *NEEDED) {
            val (a, b) = placing()
            a.mr.putLong(42)
            a.post {
                write(1, b.mr.remote().at(64)).from(a.mr.slice(0, 8))
                flush(2, b.mr.remote().slice(64, 8), GLOBAL).signaled()
            }
            a.cq.takeOne().shouldBeDone(2, FLUSH, a.qp)
            b.mr.long(64) shouldBe 42
        }

        case("should write, flush and announce by an atomic write in one list, as a log does", *NEEDED) {
            val (a, b) = placing()
            a.mr.putLong(1234)
            a.post {
                write(1, b.mr.remote().at(4096)).from(a.mr.slice(0, 8)).signaled()
                flush(2, b.mr.remote().slice(4096, 8), GLOBAL).signaled()
                atomicWrite(3, b.mr.remote(), 4096).signaled()
                flushRegion(4, b.mr.rkey(), GLOBAL).signaled()
            }
            a.cq.take(4).map { it.opcode() } shouldContainExactly listOf(RDMA_WRITE, FLUSH, ATOMIC_WRITE, FLUSH)
            b.mr.long(4096) shouldBe 1234
            b.mr.long() shouldBe 4096
        }

        case("should carry out more of them than may be in flight, in order", *NEEDED) {
            val options = ConnectOptions.builder().maxReadAtomic(2).maxDestReadAtomic(2).build()
            val (a, b) = placing(options)
            a.post {
                for (i in 1L..20L) {
                    atomicWrite(i, b.mr.remote(), i)
                    flush(100 + i, b.mr.remote().slice(0, 8), GLOBAL)
                }
                atomicWrite(21, b.mr.remote(), 21).signaled()
            }
            a.cq.takeOne().shouldBeDone(21, ATOMIC_WRITE, a.qp)
            b.mr.long() shouldBe 21
        }

        case("should flush no bytes, and a part of no bytes at the end of the region", *NEEDED) {
            val (a, b) = placing()
            a.post {
                flush(1, b.mr.remote().slice(0, 0), GLOBAL).signaled()
                flush(2, b.mr.remote().at(b.mr.length()), GLOBAL).signaled()
            }
            a.cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, FLUSH, a.qp) }
        }

        case("should refuse an atomic write to an address that is not a multiple of 8", *NEEDED) {
            val (a, b) = placing()
            val refusal = shouldThrow<WorkRequestException> { a.post { atomicWrite(1, b.mr.remote().at(4), 1) } }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.message shouldContain "multiple of 8"
        }

        case("should refuse buffers on a request that has none", *NEEDED) {
            val (a, b) = placing()
            val wrong =
                listOf<SendRequests.() -> Unit>(
                    { atomicWrite(1, b.mr.remote(), 1).from(a.mr.slice(0, 8)) },
                    { atomicWrite(1, b.mr.remote(), 1).inline(ByteArray(8)) },
                    { flush(1, b.mr.remote(), GLOBAL).from(a.mr.slice(0, 8)) },
                )
            for (request in wrong) {
                shouldThrow<WorkRequestException> { a.post(request) }.errnoName() shouldBe "EINVAL"
            }
            a.post { atomicWrite(2, b.mr.remote(), 5).signaled() }
            a.cq.takeOne().shouldBeDone(2, ATOMIC_WRITE, a.qp)
        }

        val misses =
            mapOf<String, SendRequests.(End) -> Unit>(
                "an atomic write whose rkey is wrong" to {
                    atomicWrite(
                        1,
                        it.mr.address(),
                        it.mr.rkey() xor 0x5500,
                        9,
                    )
                },
                "an atomic write beyond the end of the region" to
                    { atomicWrite(1, it.mr.address() + it.mr.length(), it.mr.rkey(), 9) },
                "a flush whose rkey is wrong" to
                    { flush(1, it.mr.address(), 8, it.mr.rkey() xor 0x5500, GLOBAL) },
                "a flush that reaches beyond the end of the region" to
                    { flush(1, it.mr.address() + 8, it.mr.length(), it.mr.rkey(), GLOBAL) },
                "a flush of a whole region whose rkey is wrong" to { flushRegion(1, it.mr.rkey() xor 0x5500, GLOBAL) },
            )
        for ((what, request) in misses) {
            case("should fail $what", *NEEDED) {
                val (a, b) = placing()
                a.post { request(b) }
                a.cq.takeOne().shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
                b.mr.long() shouldBe 0
            }
        }

        case("should fail them on a region that does not permit them", *NEEDED) {
            val requests =
                listOf<SendRequests.(MemoryRegion) -> Unit>(
                    { atomicWrite(1, it.remote(), 9) },
                    { flush(1, it.remote(), GLOBAL) },
                    { flushRegion(1, it.rkey(), GLOBAL) },
                )
            for (request in requests) {
                val (a, _) = placing()
                val readable = memory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
                a.post { request(readable) }
                a.cq.takeOne().shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
                readable.long() shouldBe 0
            }
        }

        case("should fail them through a queue pair that does not permit them", *NEEDED) {
            val requests =
                listOf<SendRequests.(End) -> Unit>(
                    { atomicWrite(1, it.mr.remote(), 9) },
                    { flush(1, it.mr.remote(), GLOBAL) },
                )
            for (request in requests) {
                val access = listOf(AccessFlag.REMOTE_READ)
                val (a, b) = placing(ConnectOptions.builder().access(access).build())
                a.post { request(b) }
                a.cq.takeOne().shouldHaveFailed(1, REM_INV_REQ_ERR, a.qp)
                b.mr.long() shouldBe 0
            }
        }

        case(
            "should flush through a window that permits it, and through no other",
            *NEEDED,
            Capability.MEMORY_WINDOWS,
            Capability.FLUSHES_THROUGH_WINDOWS,
        ) {
            val (a, b) = placing()
            val window = pd.memoryWindow(MemoryWindowType.TYPE_1)
            window.bind(b.qp, 1, b.mr, 64, 64, AccessFlag.FLUSH_GLOBAL, AccessFlag.REMOTE_WRITE)
            b.cq.takeOne().shouldBeDone(1, WorkCompletionOpcode.BIND_MW, b.qp)
            a.post {
                flush(1, b.mr.address() + 64, 64, window.rkey(), GLOBAL).signaled()
                flushRegion(2, window.rkey(), GLOBAL).signaled()
            }
            a.cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, FLUSH, a.qp) }
            a.post { flush(3, b.mr.address() + 64, 65, window.rkey(), GLOBAL) }
            a.cq.takeOne().shouldHaveFailed(3, REM_ACCESS_ERR, a.qp)
        }

        case(
            "should bind no window that permits more than its region",
            *NEEDED,
            Capability.MEMORY_WINDOWS,
            Capability.FLUSHES_THROUGH_WINDOWS,
        ) {
            val (a, _) = placing()
            val region = memory(4096, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)
            val window = pd.memoryWindow(MemoryWindowType.TYPE_1)
            window.bind(a.qp, 1, region, 0, 64, AccessFlag.FLUSH_GLOBAL)
            a.cq.takeOne().shouldHaveFailed(1, MW_BIND_ERR, a.qp)
        }

        case("should let a plain queue pair of the peer be written and flushed", *NEEDED) {
            val (a, b) = linked(a = placingEnd(), b = end())
            a.post {
                atomicWrite(1, b.mr.remote(), 5)
                flush(2, b.mr.remote(), GLOBAL).signaled()
            }
            a.cq.takeOne().shouldBeDone(2, FLUSH, a.qp)
            b.mr.long() shouldBe 5
        }

        val unmade =
            mapOf<String, Bench.() -> End>(
                "a plain queue pair" to { end() },
                "an extended queue pair without the feature" to { extendedEnd() },
            )
        for ((what, made) in unmade) {
            case("should refuse them on $what before anything is posted, and say what to do", *NEEDED) {
                val (a, b) = linked(a = made(this), b = made(this))
                val requests =
                    mapOf<Feature, SendRequests.() -> Unit>(
                        Feature.ATOMIC_WRITE to { atomicWrite(1, b.mr.remote(), 9) },
                        Feature.FLUSH to { flush(1, b.mr.remote(), GLOBAL) },
                    )
                for ((feature, request) in requests) {
                    val refusal =
                        shouldThrow<UnsupportedVerbException> {
                            a.post {
                                write(0, b.mr.remote()).from(a.mr.slice(0, 8)).signaled()
                                request()
                            }
                        }
                    refusal.operation() shouldBe feature.verb()
                    refusal.device() shouldBe device.name
                    refusal.advice() shouldContain "Request 1 of 2"
                    refusal.advice() shouldContain "asExtended(Feature.$feature)"
                }
                a.cq.shouldStayEmpty()
                a.post { write(3, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                a.cq.takeOne().shouldBeDone(3, RDMA_WRITE, a.qp)
            }
        }

        case("should post nothing of a batch that is given up, on extended queues as on plain ones", *NEEDED) {
            for (a in listOf(placingEnd(), end())) {
                val b = end()
                linked(a = a, b = b)
                shouldThrow<NoSuchElementException> {
                    a.post {
                        write(1, b.mr.remote()).inline(ByteArray(8) { 1 }).signaled()
                        throw NoSuchElementException("given up")
                    }
                }
                a.post { write(2, b.mr.remote().at(8)).inline(ByteArray(8) { 2 }).signaled() }
                a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
                b.mr.long() shouldBe 0
            }
        }

        case("should gather inline data of several places", *NEEDED) {
            val (a, b) = placing()
            a.post {
                write(1, b.mr.remote())
                    .inline(byteArrayOf(1, 2, 3))
                    .inline(byteArrayOf(4))
                    .inline(byteArrayOf(5, 6, 7, 8))
                    .signaled()
            }
            a.cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
            b.mr.bytes(8) shouldBe byteArrayOf(1, 2, 3, 4, 5, 6, 7, 8)
        }

        case("should permit a flush to persistence only if it is an ability of the device", *NEEDED) {
            if (DeviceCapability.FLUSH_PERSISTENT !in context.queryDeviceEx().capabilities()) {
                val refusal = shouldThrow<RdmaSystemException> { memory(4096, AccessFlag.FLUSH_PERSISTENT) }
                refusal.operation() shouldBe "ibv_reg_mr"
            }
        }

        case("should show them among the abilities of the device", *NEEDED) {
            val abilities = context.queryDeviceEx().capabilities()
            abilities shouldContain DeviceCapability.ATOMIC_WRITE
            abilities shouldContain DeviceCapability.FLUSH_GLOBAL
        }
    })

private val NEEDED = arrayOf(Capability.RAW_CONNECT, Capability.ATOMIC_WRITE, Capability.FLUSH)

private fun Bench.placingEnd(): End {
    val cq = cq()
    val attributes =
        QueuePairInitAttributes
            .of(QueuePairType.RC, cq)
            .with(CAPABILITIES)
            .asExtended(Feature.ATOMIC_WRITE, Feature.FLUSH)
    return End(pd.queuePair(attributes), cq, memory())
}

/** Makes two ends that have both operations. */
private fun Bench.placing(options: ConnectOptions = ConnectOptions.DEFAULTS): Link =
    linked(options = options, a = placingEnd(), b = placingEnd())
