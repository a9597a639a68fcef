package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.Kind
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType.XRC_SEND
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.nio.file.Files
import java.nio.file.Path
import java.time.Duration
import kotlin.io.path.deleteIfExists
import kotlin.io.path.div
import kotlin.io.path.exists

private const val O_CREAT = 0x40
private const val O_EXCL = 0x80

/** Tests the calls of XRC on a libibverbs: their parameters, their order at a close, and a library without them. */
class XrcCallsSpec :
    FunSpec({
        onNullDevice()

        test("should open a domain without a file, and one for each name of a file, which it makes") {
            val folder = Files.createTempDirectory("xrc")
            val file = folder / "domain"
            try {
                NullBench().use { bench ->
                    bench.context.xrcDomain().file() shouldBe null
                    NullVerbs.domainFlags() shouldBe O_CREAT
                    val missing = XrcDomainAttributes.of(file).existing()
                    val refusal = shouldThrow<RdmaSystemException> { bench.context.xrcDomain(missing) }
                    refusal.errnoName() shouldBe "ENOENT"
                    refusal.message shouldContain "ibv_open_xrcd(null0, file=$file)"
                    file.exists() shouldBe false
                    Files.createFile(file)
                    shouldThrow<RdmaSystemException> { bench.context.xrcDomain(missing) }.errnoName() shouldBe "EAGAIN"
                    file.deleteIfExists()
                    val domain = bench.context.xrcDomain(XrcDomainAttributes.of(file))
                    domain.file() shouldBe file
                    file.exists() shouldBe true
                    bench.context.xrcDomain(missing).isOpen shouldBe true
                    NullVerbs.domainFlags() shouldBe 0
                    val fresh = XrcDomainAttributes.of(file).fresh()
                    shouldThrow<RdmaSystemException> { bench.context.xrcDomain(fresh) }.message shouldContain
                        "file=$file, O_CREAT|O_EXCL"
                    NullVerbs.domainFlags() shouldBe (O_CREAT or O_EXCL)
                    NullVerbs.live(Kind.XRCD) shouldBe 3
                }
            } finally {
                file.deleteIfExists()
                folder.deleteIfExists()
            }
        }

        test("should refuse combinations that mean nothing") {
            shouldThrow<IllegalArgumentException> { XrcDomainAttributes(null, false, false) }
            shouldThrow<IllegalArgumentException> { XrcDomainAttributes(Path.of("x"), false, true) }
            shouldThrow<IllegalArgumentException> { XrcDomainAttributes.UNSHARED.existing() }
        }

        test("should make queues and both ends, and destroy them before what they were made from") {
            NullBench().use { bench ->
                val domain = bench.context.xrcDomain()
                val attributes = SharedReceiveQueueAttributes.of(64, 2)
                val srq = bench.pd.sharedReceiveQueue(attributes, domain, bench.cq)
                srq.attributes() shouldBe attributes
                srq.xrcDomain() shouldBe domain
                srq.cq() shouldBe bench.cq
                (srq.number() >= 0x100) shouldBe true
                val receiver = domain.queuePair()
                receiver.number() shouldBe 0x4711
                val opened = domain.openQueuePair(0x123456)
                opened.number() shouldBe 0x123456
                val sender = bench.queuePair(XRC_SEND)
                sender.capabilities().maxRecvWr() shouldBe 0
                NullVerbs.raise(AsyncEventType.QP_REQ_ERR, receiver.handle())
                val event = bench.context.awaitAsyncEvent(Duration.ZERO).shouldNotBeNull()
                event.source() shouldBe receiver
                domain.close()
                NullVerbs.live(Kind.QP) shouldBe 1
                listOf(srq, receiver, opened).any { it.isOpen } shouldBe false
            }
        }

        test("should tell the driver the queue of each request, by the plain calls and by the extended ones") {
            NullBench().use { bench ->
                val plain = bench.queuePair(XRC_SEND)
                plain.postWith { it.send(1).from(bench.mr.slice()).toSharedReceiveQueue(0xabcdef) }
                NullVerbs.namedQueue(plain) shouldBe 0xabcdef
                val extended =
                    bench.pd.queuePair(QueuePairInitAttributes.of(XRC_SEND, bench.cq).asExtended())
                extended.postWith { it.send(1).from(bench.mr.slice()).toSharedReceiveQueue(0x123) }
                NullVerbs.namedQueue(extended) shouldBe 0x123
            }
        }

        test("should name the first request that names no queue, in a list that was used before, too") {
            NullBench().use { bench ->
                val qp = bench.queuePair(XRC_SEND)
                val list = SendRequests()
                repeat(2) {
                    list.clear()
                    repeat(3) { list.send(it.toLong()).toSharedReceiveQueue(7) }
                    qp.post(list)
                    list.clear()
                    list.send(1).toSharedReceiveQueue(7)
                    list.localInvalidate(2, 5)
                    list.send(3)
                    list.send(4).toSharedReceiveQueue(7)
                    shouldThrow<WorkRequestException> { qp.post(list) }.index() shouldBe 2
                    list.clear()
                    list.send(1)
                    shouldThrow<WorkRequestException> { qp.tryPost(list) }.index() shouldBe 0
                    list.toSharedReceiveQueue(0).toSharedReceiveQueue(1)
                    qp.tryPost(list) shouldBe 1
                }
                shouldThrow<IllegalArgumentException> { SendRequests().send(1).toSharedReceiveQueue(1 shl 24) }
                shouldThrow<IllegalStateException> { SendRequests().toSharedReceiveQueue(1) }
            }
        }

        test("should say that a library without extended calls has no XRC") {
            NullBench(extended = false).use { bench ->
                bench.context.supports(Feature.XRC) shouldBe false
                val missing = shouldThrow<UnsupportedVerbException> { bench.context.xrcDomain() }
                missing.operation() shouldBe "ibv_open_xrcd"
                missing.message shouldContain "hns since rdma-core 36"
                NullVerbs.live(Kind.XRCD) shouldBe 0
            }
        }

        test("should keep a domain that the kernel refuses to close, and close it later") {
            NullBench().use { bench ->
                val domain = bench.context.xrcDomain()
                NullVerbs.set(NullVerbs.Option.KEEP_KIND, Kind.XRCD.ordinal)
                NullVerbs.set(NullVerbs.Option.KEEP_ERRNO, 16)
                shouldThrow<RdmaSystemException> { domain.close() }.operation() shouldBe "ibv_close_xrcd"
                NullVerbs.set(NullVerbs.Option.KEEP_KIND, -1)
                domain.close()
                NullVerbs.live(Kind.XRCD) shouldBe 0
            }
        }
    })
