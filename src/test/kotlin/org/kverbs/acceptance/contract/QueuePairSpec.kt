package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.QueuePair
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.WorkRequestException
import org.kverbs.WorkRequestOpcode
import org.kverbs.acceptance.contract.Capability.CHECKS_STATE
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.EXTENDED_QUEUES
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairAttributesBuilder
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD

/** Checks creation and states of queue pairs, and the answers to wrong steps. */
internal class QueuePairSpec :
    ContractSpec({
        for (type in listOf(RC, UC, UD)) {
            val needed = if (type == RC) emptyArray() else arrayOf(type.capability)
            case("should make a queue pair of type $type with at least the sizes asked for", *needed) {
                val asked = QueuePairCapabilities(10, 12, 2, 1, 16)
                val qp = queuePair(type, capabilities = asked)
                qp.number() shouldBeInRange 1..0xffffff
                qp.type() shouldBe type
                val given = qp.capabilities()
                given.maxSendWr() shouldBeGreaterThanOrEqual 10
                given.maxRecvWr() shouldBeGreaterThanOrEqual 12
                given.maxSendSge() shouldBeGreaterThanOrEqual 2
                given.maxInlineData() shouldBeGreaterThanOrEqual 16
                queuePair(type, capabilities = asked).number() shouldNotBe qp.number()
                qp.query().state() shouldBe QueuePairState.RESET
                val found = qp.query().cap()
                found.maxSendWr() shouldBeGreaterThanOrEqual 10
                found.maxRecvWr() shouldBeGreaterThanOrEqual 12
                found.maxSendSge() shouldBeGreaterThanOrEqual 2
                found.maxRecvSge() shouldBeGreaterThanOrEqual 1
                found.maxInlineData() shouldBeGreaterThanOrEqual 16
                qp.isDataInOrder(WorkRequestOpcode.RDMA_WRITE) shouldBe false
            }
            case("should bring a $type queue pair from RESET to INIT and RTS, and back", type.capability) {
                val qp = queuePair(type)
                qp.init(ConnectOptions.DEFAULTS)
                qp.state() shouldBe QueuePairState.INIT
                if (type == UD) qp.activate(ConnectOptions.DEFAULTS) else qp.connect(queuePair(type).endpoint())
                qp.state() shouldBe QueuePairState.RTS
                qp.modify(state(QueuePairState.RESET).build())
                qp.state() shouldBe QueuePairState.RESET
            }
            case("should answer a query of a $type queue pair with its connection's attributes", type.capability) {
                val options =
                    ConnectOptions
                        .builder()
                        .pathMtu(Mtu.MTU_1024)
                        .timeout(10)
                        .retryCount(3)
                        .rnrRetry(2)
                        .build()
                val end = end(type)
                end.qp.state() shouldBe QueuePairState.RESET
                val (a, b) = linked(type, options = options, a = end)
                val found = a.qp.query()
                found.state() shouldBe QueuePairState.RTS
                found.port() shouldBe PORT
                found.sqPsn() shouldBe a.qp.psn()
                if (type == UD) {
                    found.qkey() shouldBe ConnectOptions.DEFAULT_QKEY
                } else {
                    found.destQpn() shouldBe b.qp.number()
                    found.rqPsn() shouldBe b.qp.psn()
                    found.pathMtu() shouldBe Mtu.MTU_1024
                    found.address().globalRoute()?.dgid() shouldBe b.qp.endpoint().gid()
                }
                if (type == RC) listOf(found.timeout(), found.retryCount(), found.rnrRetry()) shouldBe listOf(10, 3, 2)
            }
        }

        case("should refuse sizes beyond the device's") {
            val most = context.queryDevice()
            val sizes =
                mapOf(
                    QueuePairCapabilities(most.maxQpWr() + 1, 1, 1, 1, 0) to
                        "max_send_wr ${most.maxQpWr() + 1} is above the device's max_qp_wr of ${most.maxQpWr()}.",
                    QueuePairCapabilities(1, most.maxQpWr() + 1, 1, 1, 0) to
                        "max_recv_wr ${most.maxQpWr() + 1} is above the device's max_qp_wr of ${most.maxQpWr()}.",
                    QueuePairCapabilities(1, 1, most.maxSge() + 1, 1, 0) to
                        "max_send_sge ${most.maxSge() + 1} is above the device's max_sge of ${most.maxSge()}.",
                    QueuePairCapabilities(1, 1, 1, most.maxSge() + 1, 0) to
                        "max_recv_sge ${most.maxSge() + 1} is above the device's max_sge of ${most.maxSge()}.",
                )
            val types = listOf(RC, UC, UD).filter { it == RC || it.capability in device.capabilities }
            for ((size, excess) in sizes) {
                for (type in types) {
                    val refusal = shouldThrow<RdmaSystemException> { queuePair(type, capabilities = size) }
                    refusal.operation() shouldBe "ibv_create_qp"
                    refusal.message shouldContain size.toString()
                    refusal.advice() shouldStartWith excess
                }
            }
        }

        case("should connect by endpoints that travelled as text and as bytes", RAW_CONNECT) {
            val a = end()
            val b = end()
            a.qp.connect(QueuePairEndpoint.parse(b.qp.endpoint().toText()))
            b.qp.connect(QueuePairEndpoint.of(a.qp.endpoint().toBytes()))
            b.qp.postReceive(1, b.mr.slice())
            a.post { send(1).inline(pattern(4)).signaled() }
            b.cq.takeOne().isSuccess shouldBe true
        }

        case("should go back to RESET and be connected anew", RAW_CONNECT) {
            val (a, b) = linked()
            listOf(a, b).forEach { it.qp.modify(state(QueuePairState.RESET).build()) }
            a.qp.state() shouldBe QueuePairState.RESET
            linked(a = a, b = b)
            b.qp.postReceive(1, b.mr.slice())
            a.post { send(1).inline(pattern(4)).signaled() }
            b.cq.takeOne().isSuccess shouldBe true
        }

        case("should change the Q_Key of a datagram queue pair", DATAGRAM) {
            val (a, _) = linked(UD)
            a.qp.modify(QueuePairAttributes.builder().qkey(0x123).build())
            a.qp.query().qkey() shouldBe 0x123
        }

        case(
            "should report the Q_Key and the PSN that a datagram queue pair got on its way to RTS, plain and extended",
            DATAGRAM,
            EXTENDED_QUEUES,
        ) {
            for (qp in listOf(end(UD).qp, extendedEnd(UD).qp)) {
                qp.modify(state(QueuePairState.INIT).port(PORT).pkeyIndex(0).qkey(0x123).build())
                qp.query().qkey() shouldBe 0x123
                qp.modify(state(QueuePairState.RTR).build())
                qp.modify(state(QueuePairState.RTS).sqPsn(0x45).build())
                qp.query().sqPsn() shouldBe 0x45
                qp.modify(state(QueuePairState.RESET).build())
                qp.state() shouldBe QueuePairState.RESET
            }
        }

        case("should name the attributes that a transition lacks", RAW_CONNECT) {
            val refusal = queuePair().refuse { state(QueuePairState.INIT).port(PORT) }
            refusal.message shouldContain "RESET -> INIT of RC queue pairs lacks required attributes: "
            refusal.message shouldContain "ACCESS_FLAGS (IBV_QP_ACCESS_FLAGS)"
            refusal.message shouldContain "PKEY_INDEX (IBV_QP_PKEY_INDEX)"
            refusal.message shouldNotContain "IBV_QP_PORT"
        }

        case("should name the attributes that a transition does not take", RAW_CONNECT) {
            val refusal = queuePair().refuse { init().rqPsn(5) }
            refusal.message shouldContain "does not take these attributes: RQ_PSN (IBV_QP_RQ_PSN)"
        }

        case("should name the transition that does not exist, and those that do", RAW_CONNECT) {
            val refusal = queuePair().refuse { state(QueuePairState.RTS) }
            refusal.message shouldContain "There is no transition RESET -> RTS for RC queue pairs; RESET leads to "
            refusal.message shouldContain "INIT"
        }

        case(
            "should suggest the port, the GID index or the read depth if the set of attributes is right",
            RAW_CONNECT,
        ) {
            queuePair().refuse { init().port(99) }.message shouldContain
                "PORT (IBV_QP_PORT) is 1 to the device's phys_port_cnt"
            val qp = queuePair().apply { init(ConnectOptions.DEFAULTS) }
            val peer = qp.endpoint()
            val badIndex =
                shouldThrow<RdmaSystemException> {
                    qp.modify(toRtr(AddressAttributes.toGid(peer.gid(), 200, PORT)).build())
                }
            badIndex.errnoName() shouldBe "ENODATA"
            badIndex.message shouldContain "to RTR"
            badIndex.message shouldContain "The entry of the GID table is empty"
            val eager = ConnectOptions.builder().maxReadAtomic(255).build()
            val depth = shouldThrow<RdmaSystemException> { qp.connect(peer, eager) }
            depth.message shouldContain "RTR -> RTS"
            depth.message shouldContain
                "MAX_QP_RD_ATOMIC (IBV_QP_MAX_QP_RD_ATOMIC) is not above the device's max_qp_init_rd_atom"
        }

        case("should refuse a receive in RESET and take it in INIT", CHECKS_STATE) {
            val end = end()
            val refusal = shouldThrow<WorkRequestException> { end.qp.postReceive(1, end.mr.slice()) }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.index() shouldBe 0
            refusal.message shouldContain "not in RESET"
            end.qp.init(ConnectOptions.DEFAULTS)
            end.qp.postReceive(1, end.mr.slice())
        }

        case("should refuse a send before RTS", CHECKS_STATE) {
            val end = end()
            val list = SendRequests().send(1).from(end.mr.slice(0, 4)).send(2)
            repeat(2) {
                val refusal = shouldThrow<WorkRequestException> { end.qp.post(list) }
                refusal.errnoName() shouldBe "EINVAL"
                refusal.index() shouldBe 0
                refusal.count() shouldBe 2
                refusal.message shouldContain "Check that the queue pair is in RTS"
                if (it == 0) end.qp.init(ConnectOptions.DEFAULTS)
            }
        }

        if (CHECKS_STATE !in device.capabilities) {
            case("should accept a receive in RESET, and refuse only the first send, if the driver checks no more") {
                val end = end()
                end.qp.postReceive(1, end.mr.slice())

                fun send() = end.post { send(2).from(end.mr.slice(0, 4)) }
                shouldThrow<WorkRequestException> { send() }.index() shouldBe 0
                send()
                end.cq.shouldStayEmpty()
            }
        }
    })

private fun state(state: QueuePairState): QueuePairAttributesBuilder = QueuePairAttributes.builder().state(state)

private fun init(): QueuePairAttributesBuilder =
    state(QueuePairState.INIT).port(PORT).pkeyIndex(0).accessFlags(REMOTE_READ, REMOTE_WRITE)

private fun toRtr(address: AddressAttributes): QueuePairAttributesBuilder =
    state(QueuePairState.RTR)
        .address(address)
        .pathMtu(Mtu.MTU_1024)
        .destQpn(17)
        .rqPsn(0)
        .maxDestReadAtomic(1)
        .minRnrTimer(12)

private fun QueuePair.refuse(attributes: () -> QueuePairAttributesBuilder): RdmaSystemException {
    val refusal = shouldThrow<RdmaSystemException> { modify(attributes().build()) }
    refusal.errnoName() shouldBe "EINVAL"
    refusal.operation() shouldBe "ibv_modify_qp"
    return refusal
}
