package org.kverbs.efa

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletions
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.DRIVER
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.driver.StandInLibrary.Kind
import org.kverbs.driver.StandInLibrary.Option
import org.kverbs.efa.StandIn.onStandIn

/** RDMA_READ, RNR_RETRY and RDMA_WRITE. */
private const val ALL_CAPS = 0xb

/** What the tests need of the device `null0`. */
private class Bench : AutoCloseable {
    val context: Context = StandIn.open()
    val efa: EfaDevice = Efa.of(context)
    val pd = context.protectionDomain()
    val cq = context.completionQueue(64)
    val address = pd.addressHandle(AddressAttributes.builder().port(1).build())
    val memory = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE)
    val attributes: QueuePairInitAttributes = QueuePairInitAttributes.of(DRIVER, cq)

    fun srd() = efa.srdQueuePair(pd, attributes)

    override fun close() = context.close()
}

private fun <T> bench(
    caps: Int = 0,
    block: Bench.() -> T,
): T {
    StandIn.set(Option.CAPS, caps)
    return Bench().use { it.block() }
}

/** The door to the driver efa: what the driver is told of queue pairs, of their posts and of their end. */
class EfaSpec :
    FunSpec({
        onStandIn()

        test("should say that another driver's device, and an embedded one, has none of it") {
            StandIn.open().use { context ->
                StandIn.set(Option.FOREIGN, 1)
                val refusal = shouldThrow<UnsupportedVerbException> { Efa.of(context) }
                refusal.device() shouldBe "null0"
                refusal.message shouldContain "another driver"
                Efa.isSupported(context) shouldBe false
            }
            Device.list().first { it.name() == "embedded0" }.open().use { context ->
                StandIn.calls()
                shouldThrow<UnsupportedVerbException> { Efa.of(context) }.message shouldContain "another driver"
                StandIn.calls() shouldBe listOf()
            }
        }

        test("should say that the library is missing, or has too old a release") {
            StandIn.open().use { context ->
                val file = System.getProperty("kverbs.libefa")
                try {
                    System.setProperty("kverbs.libefa", "/nonexistent/libefa.so.1")
                    shouldThrow<UnsupportedVerbException> { Efa.of(context) }.message shouldContain
                        "cannot load /nonexistent/libefa.so.1"
                    val old = StandIn.compile("libnullefa-24.so", "-Defadv_query_device=not_in_this_release")
                    System.setProperty("kverbs.libefa", "$old")
                    val refusal = shouldThrow<UnsupportedVerbException> { Efa.of(context) }
                    refusal.errnoName() shouldBe "EOPNOTSUPP"
                    refusal.message shouldContain "an older library"
                } finally {
                    System.setProperty("kverbs.libefa", file)
                }
                Efa.isSupported(context) shouldBe true
            }
        }

        test("should read what the device says") {
            bench(ALL_CAPS) {
                StandIn.calls() shouldContainExactly listOf("efadv_query_device null0 length=32")
                val answer = efa.query()
                answer shouldBe EfaAttributes(4096, 32768, 2, 0xfffe, 32, ALL_CAPS, 1 shl 30)
                listOf(answer.hasRead(), answer.hasRnrRetry(), answer.hasSourceGid(), answer.hasWrite()) shouldBe
                    listOf(true, true, false, true)
            }
        }

        test("should make an SRD queue pair with the operations that the device has") {
            for ((caps, operations) in listOf(0 to "0xc", 1 to "0x1c", 8 to "0xf", ALL_CAPS to "0x1f")) {
                bench(caps) {
                    StandIn.calls()
                    srd().isExtended shouldBe true
                    StandIn.calls().last() shouldBe
                        "efadv_create_qp_ex type=0xff comp_mask=0x41 ops=$operations efa=0 comp_mask=0 length=16"
                }
            }
        }

        test("should bring an SRD queue pair up as a UD one, with RNR retries if the device has them") {
            for ((caps, last) in listOf(0 to "0x10001", 2 to "0x10801")) {
                bench(caps) {
                    val srd = srd()
                    StandIn.calls()
                    efa.activate(srd, ConnectOptions.DEFAULTS)
                    StandIn.calls().filter { it.startsWith("ibv") } shouldContainExactly
                        listOf(
                            "ibv_modify_qp state=1 mask=0x71", // STATE, PKEY_INDEX, PORT, QKEY
                            "ibv_modify_qp state=2 mask=0x1",
                            "ibv_modify_qp state=3 mask=$last",
                        )
                    srd.state() shouldBe QueuePairState.RTS
                    srd.endpoint().qkey() shouldBe ConnectOptions.DEFAULT_QKEY
                }
            }
        }

        test("should tell the driver the peer of each request, beside the memory that a read or a write names") {
            bench(ALL_CAPS) {
                val srd = srd()
                StandIn.calls()
                srd.postWith {
                    it.send(1).from(memory.slice(0, 8)).to(address, 0x11, -2).signaled()
                    it.write(2, 0x7000, 0x22).from(memory.slice(0, 16)).to(address, 0x12, 5)
                    it.read(3, 0x7008, 0x23).into(memory.slice(0, 24)).to(address, 0x13, 6)
                }
                StandIn.calls() shouldContainExactly
                    listOf(
                        "send id=1 flags=2",
                        "ud_addr type=0xff of=null0 number=0x11 qkey=0xfffffffe",
                        "sge length=8",
                        "write id=2 rkey=0x22 address=0x7000",
                        "ud_addr type=0xff of=null0 number=0x12 qkey=0x5",
                        "sge length=16",
                        "read id=3 rkey=0x23 address=0x7008",
                        "ud_addr type=0xff of=null0 number=0x13 qkey=0x6",
                        "sge length=24",
                    )
                srd.postReceive(4, memory.slice())
            }
        }

        test("should refuse a request without a peer, and a write where the device has none") {
            bench {
                val srd = srd()
                StandIn.calls()
                shouldThrow<WorkRequestException> { srd.postWith { it.send(1).from(memory.slice(0, 8)) } }
                    .message shouldContain "add to(addressHandle, number, key)"
                val refusal =
                    shouldThrow<WorkRequestException> {
                        srd.postWith { it.write(1, 0x7000, 1).from(memory.slice(0, 8)).to(address, 1, 1) }
                    }
                refusal.errnoName() shouldBe "EINVAL"
                StandIn.calls() shouldBe listOf()
            }
        }

        test("should read the GID of an unknown sender and the mark of an unsolicited receive, within the poll") {
            bench {
                StandIn.calls()
                val queue =
                    efa.completionQueue(
                        CompletionQueueAttributes.of(16),
                        EfaCompletionField.SOURCE_GID,
                        EfaCompletionField.UNSOLICITED,
                    )
                StandIn.calls() shouldContainExactly listOf("efadv_create_cq cqe=16 efa=0x3 comp_mask=0 length=16")
                (1..5L).forEach { StandIn.receive(queue, it) }
                StandIn.send(queue, 6)
                val batch = WorkCompletions(8)
                queue.poll(batch) shouldBe 6
                List(6) { batch.get(it).sourceGid()?.bytes()?.first()?.toInt() } shouldBe
                    listOf(null, 0x22, null, 0x24, null, null)
                List(6) { batch.get(it).isUnsolicited() } shouldBe listOf(false, false, false, true, true, false)
                batch.get(1).copy().sourceGid() shouldBe batch.get(1).sourceGid()
            }
        }

        test("should call no function that the queue was not made with, and say so in the exception") {
            bench {
                val queue = efa.completionQueue(CompletionQueueAttributes.of(16), EfaCompletionField.UNSOLICITED)
                StandIn.receive(queue, 4)
                val batch = WorkCompletions(1)
                queue.poll(batch) shouldBe 1
                batch.get(0).isUnsolicited() shouldBe true
                shouldThrow<IllegalStateException> { batch.get(0).sourceGid() }.message shouldContain "source GID"
                StandIn.receive(cq, 4)
                cq.poll(batch) shouldBe 1
                shouldThrow<IllegalStateException> { batch.get(0).isUnsolicited() }.message shouldContain "driver efa"
            }
        }

        test("should name the release if the library or the device lacks the call, and leave no queue behind") {
            bench {
                val before = StandIn.live(Kind.CQ)
                StandIn.set(Option.REFUSE, 95)
                val refusal =
                    shouldThrow<UnsupportedVerbException> {
                        efa.completionQueue(CompletionQueueAttributes.of(16), EfaCompletionField.SOURCE_GID)
                    }
                refusal.operation() shouldBe "efadv_create_cq"
                refusal.message shouldContain "since rdma-core 43"
                StandIn.live(Kind.CQ) shouldBe before
            }
        }

        test("should give the number of an address handle") {
            bench {
                StandIn.calls()
                efa.addressHandleNumber(address) shouldBe 0xfedc
                StandIn.calls() shouldContainExactly listOf("efadv_query_ah null0 length=16")
                StandIn.set(Option.REFUSE, 5)
                shouldThrow<RdmaSystemException> { efa.addressHandleNumber(address) }.operation() shouldBe
                    "efadv_query_ah"
                address.close()
                shouldThrow<IllegalStateException> { efa.addressHandleNumber(address) }
            }
        }

        test("should refuse what does not fit, and leave nothing behind after a refusal of the driver") {
            bench {
                StandIn.calls()
                val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes(64, 1, 0))
                shouldThrow<IllegalArgumentException> { efa.srdQueuePair(pd, attributes.with(srq)) }
                val outer = this
                bench {
                    val other = this
                    shouldThrow<IllegalArgumentException> { outer.efa.srdQueuePair(other.pd, attributes) }
                    shouldThrow<IllegalArgumentException> { outer.efa.addressHandleNumber(other.address) }
                }
                StandIn.set(Option.REFUSE, 95)
                shouldThrow<UnsupportedVerbException> { srd() }.message shouldContain "efadv_create_qp_ex"
                StandIn.set(Option.REFUSE, 12)
                shouldThrow<RdmaSystemException> { srd() }.errnoName() shouldBe "ENOMEM"
                StandIn.live(Kind.QP) shouldBe 0
            }
        }

        test("should destroy queue pairs before what they were made from, and keep one that the driver keeps") {
            bench {
                val srd = srd()
                StandIn.keep(Kind.QP)
                shouldThrow<RdmaSystemException> { pd.close() }.operation() shouldBe "ibv_destroy_qp"
                StandIn.live(Kind.QP) shouldBe 1
                StandIn.keep(null)
                pd.close()
                StandIn.live(Kind.QP) shouldBe 0
                srd.isOpen shouldBe false
            }
        }
    })
