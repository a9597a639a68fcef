package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.Option.PLACES
import org.kverbs.NullVerbs.Placed
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.Feature
import org.kverbs.attributes.Feature.ATOMIC_WRITE
import org.kverbs.attributes.Feature.COMPLETION_MODERATION
import org.kverbs.attributes.Feature.FLUSH
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType

private val remote = RemoteMemory(0x7000_0000_0040, 4096, -0x2211_0001)
private const val RKEY = 0xddee_ffffL

/** Tests atomic writes and flushes on a driver. Its structure has their functions only in newer releases. */
class PlacementPostSpec :
    FunSpec({
        onNullDevice()

        test("should tell the driver an atomic write, and set no buffers after it") {
            NullBench().use { bench ->
                NullVerbs.set(PLACES, 44)
                val qp = bench.extendedQueuePair(ATOMIC_WRITE)
                qp.post(SendRequests().atomicWrite(1, remote, 0x0102030405060708))
                NullVerbs.placed(qp) shouldBe Placed(1, RKEY, remote.address(), 0x0102030405060708)
            }
        }

        test("should tell the driver a flush of a part, and of a whole region") {
            NullBench().use { bench ->
                NullVerbs.set(PLACES, 45)
                val qp = bench.extendedQueuePair(ATOMIC_WRITE, FLUSH)
                qp.post(SendRequests().flush(1, remote.slice(64, 100), FlushPlacement.GLOBAL))
                NullVerbs.placed(qp) shouldBe Placed(1, RKEY, remote.address() + 64, 100, type = 1, level = 0)
                qp.post(SendRequests().flushRegion(1, remote.rkey(), FlushPlacement.PERSISTENT))
                NullVerbs.placed(qp) shouldBe Placed(2, RKEY, 0, 0, type = 2, level = 1)
                qp.post(SendRequests().flush(1, 8, SendRequests.MOST_FLUSHED, 9, FlushPlacement.GLOBAL))
                NullVerbs.placed(qp) shouldBe Placed(3, 9, 8, 1L shl 31, type = 1)
            }
        }

        test("should tell a write, a flush and an atomic write in the order of the list") {
            NullBench().use { bench ->
                NullVerbs.set(PLACES, 45)
                val qp = bench.extendedQueuePair(ATOMIC_WRITE, FLUSH)
                val list = SendRequests()
                list.flush(1, remote, FlushPlacement.GLOBAL)
                list.atomicWrite(2, remote, 9)
                list.completionOpcode(0) shouldBe WorkCompletionOpcode.FLUSH
                list.completionOpcode(1) shouldBe WorkCompletionOpcode.ATOMIC_WRITE
                qp.post(list)
                NullVerbs.placed(qp) shouldBe Placed(2, RKEY, remote.address(), 9)
                list.clear()
                list.send(3).from(bench.mr.slice())
                qp.post(list)
                NullVerbs.placed(qp).setters shouldBe 1
            }
        }

        test("should refuse them before the driver on a queue pair that was not made for them") {
            NullBench().use { bench ->
                NullVerbs.set(PLACES, 45)
                val queuePairs = listOf(bench.queuePair(), bench.extendedQueuePair(), bench.extendedQueuePair(FLUSH))
                for (qp in queuePairs) {
                    val list = SendRequests().send(1).from(bench.mr.slice()).atomicWrite(2, remote, 1)
                    val refusal = shouldThrow<UnsupportedVerbException> { qp.post(list) }
                    refusal.operation() shouldBe "ibv_wr_atomic_write"
                    refusal.advice() shouldContain
                        "Request 1 of 2, counted from 0, needs a queue pair with ATOMIC_WRITE"
                    refusal.advice() shouldContain "asExtended(Feature.ATOMIC_WRITE)"
                    shouldThrow<UnsupportedVerbException> { qp.tryPost(list) }
                    NullVerbs.placed(qp).count shouldBe 0
                    qp.post(list.apply { clear() }.send(3).from(bench.mr.slice()))
                }
            }
        }

        test("should not make a queue pair for what the device does not have, whatever the driver accepts") {
            NullBench().use { bench ->
                for (feature in listOf(ATOMIC_WRITE, FLUSH)) {
                    bench.context.supports(feature) shouldBe false
                    val refusal = shouldThrow<UnsupportedVerbException> { bench.extendedQueuePair(feature) }
                    refusal.operation() shouldBe feature.verb()
                    refusal.device() shouldBe "null0"
                    refusal.advice() shouldContain feature.needs()
                }
            }
        }

        test("should name the release that has the flush, if the kernel has it and the driver does not") {
            NullBench().use { bench ->
                NullVerbs.set(PLACES, 44)
                bench.context.supports(FLUSH) shouldBe true
                val refusal = shouldThrow<UnsupportedVerbException> { bench.extendedQueuePair(ATOMIC_WRITE, FLUSH) }
                refusal.operation() shouldBe "ibv_create_qp_ex"
                refusal.advice() shouldContain "rdma-core 45 or newer"
                bench.extendedQueuePair(ATOMIC_WRITE).features() shouldBe setOf(ATOMIC_WRITE)
            }
        }

        test("should not support them on a library without extended calls") {
            NullBench(extended = false).use { bench ->
                NullVerbs.set(PLACES, 45)
                bench.context.supports(ATOMIC_WRITE) shouldBe false
                shouldThrow<UnsupportedVerbException> { bench.extendedQueuePair(ATOMIC_WRITE) }
            }
        }

        test("should refuse buffers, inline data and a wrong address before the driver's lock") {
            NullBench().use { bench ->
                NullVerbs.set(PLACES, 45)
                val qp = bench.extendedQueuePair(ATOMIC_WRITE, FLUSH)
                val wrong =
                    listOf<SendRequests.() -> Unit>(
                        { atomicWrite(1, remote, 1).from(bench.mr.slice()) },
                        { atomicWrite(1, remote, 1).inline(ByteArray(8)) },
                        { atomicWrite(1, remote.at(4), 1) },
                        { flush(1, remote, FlushPlacement.GLOBAL).from(bench.mr.slice()) },
                    )
                for (request in wrong) {
                    val refusal = shouldThrow<WorkRequestException> { qp.postWith { it.request() } }
                    refusal.errnoName() shouldBe "EINVAL"
                }
                NullVerbs.placed(qp).count shouldBe 0
                NullVerbs.aborted(qp) shouldBe 0
            }
        }

        test("should refuse to begin a flush longer than a driver can tell, or of a negative length") {
            for (length in listOf(-1, SendRequests.MOST_FLUSHED + 1, Long.MAX_VALUE)) {
                val list = SendRequests()
                shouldThrow<IllegalArgumentException> { list.flush(1, 0, length, 1, FlushPlacement.GLOBAL) }
                    .message shouldContain "length $length is out of range: 0 to 2147483648"
                list.size() shouldBe 0
            }
        }

        test("should refuse features that no queue pair has, and queue pairs that have none") {
            NullBench().use { bench ->
                val plain = QueuePairInitAttributes.of(QueuePairType.RC, bench.cq)
                shouldThrow<IllegalArgumentException> { plain.asExtended(COMPLETION_MODERATION) }.message shouldContain
                    "COMPLETION_MODERATION is not an operation of an extended queue pair"
                for (type in listOf(QueuePairType.UC, QueuePairType.UD)) {
                    shouldThrow<IllegalArgumentException> {
                        QueuePairInitAttributes.of(type, bench.cq).asExtended(FLUSH)
                    }.message shouldContain "[FLUSH] needs an extended RC queue pair, and this is $type"
                }
                shouldThrow<IllegalArgumentException> {
                    QueuePairInitAttributes(
                        QueuePairType.RC,
                        bench.cq,
                        bench.cq,
                        null,
                        QueuePairInitAttributes.DEFAULT_CAPABILITIES,
                        false,
                        false,
                        setOf(FLUSH),
                    )
                }.message shouldContain "this is a plain RC: take RC and asExtended(features)"
                plain.features().shouldBeEmpty()
                plain.asExtended(FLUSH).with(QueuePairCapabilities(1, 1, 1, 1, 0)).features() shouldBe
                    setOf<Feature>(FLUSH)
            }
        }

        test("should give the driver inline data of several places as one") {
            NullBench().use { bench ->
                val qp = bench.extendedQueuePair(QueuePairCapabilities(8, 8, 4, 1, 64))
                qp.postWith { it.send(1).inline(byteArrayOf(1, 2, 3)).inline(byteArrayOf(4)).inline(byteArrayOf(5, 6)) }
                NullVerbs.inlined(qp, 6) shouldBe listOf<Byte>(1, 2, 3, 4, 5, 6)
            }
        }
    })
