package org.kverbs.mlx5

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.DRIVER
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.driver.StandInLibrary.Kind
import org.kverbs.driver.StandInLibrary.Option
import org.kverbs.mlx5.StandIn.onStandIn

private const val KEY = -0x1234_5678_9abc_def0L

/** What the tests need of the device `null0`. */
private class Bench : AutoCloseable {
    val context: Context = StandIn.open()
    val mlx5: Mlx5Device = Mlx5.of(context)
    val pd = context.protectionDomain()
    val cq = context.completionQueue(64)
    val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes(64, 1, 0))
    val address = pd.addressHandle(AddressAttributes.builder().port(1).build())
    val memory = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE)
    val attributes: QueuePairInitAttributes = QueuePairInitAttributes.of(DRIVER, cq)

    fun initiator() = mlx5.dciQueuePair(pd, attributes)

    fun target() = mlx5.dct(pd, attributes.with(srq), KEY)

    override fun close() = context.close()
}

private fun <T> bench(block: Bench.() -> T): T = Bench().use { it.block() }

/** The DC queue pairs: what the driver is told of them, of their posts and of their end. */
class DcSpec :
    FunSpec({
        onStandIn()

        test("should make an initiator for all operations of peers, without a receive queue") {
            bench {
                StandIn.calls() shouldContainExactly listOf("mlx5dv_is_supported null0")
                val initiator = initiator()
                StandIn.calls() shouldContainExactly
                    listOf(
                        "mlx5dv_create_qp type=0xff comp_mask=0x41 ops=0x27f send=128 recv=0 srq=0 mlx5=0x2 dc=2 key=0x0",
                        "mlx5dv_qp_ex_from_ibv_qp_ex type=0xff",
                    )
                initiator.type() shouldBe DRIVER
                initiator.isExtended shouldBe true
                initiator.capabilities().maxRecvWr() shouldBe 0
                shouldThrow<WorkRequestException> { initiator.postReceive(1, memory.slice()) }.errnoName() shouldBe
                    "EINVAL"
            }
        }

        test("should bring an initiator up by the steps that DC has") {
            bench {
                val initiator = initiator()
                StandIn.calls()
                mlx5.activateInitiator(initiator, ConnectOptions.DEFAULTS)
                StandIn.calls() shouldContainExactly
                    listOf(
                        "ibv_modify_qp state=1 mask=0x31", // STATE, PKEY_INDEX, PORT
                        "ibv_modify_qp state=2 mask=0x101", // STATE, PATH_MTU
                        "ibv_modify_qp state=3 mask=0x12e01", // STATE, SQ_PSN, timeout, retries, reads
                    )
                initiator.state() shouldBe QueuePairState.RTS
            }
        }

        test("should make a target with its key, and know its number from RTR on") {
            StandIn.set(Option.NUMBER, 0xabcdef)
            bench {
                StandIn.calls()
                val target = target()
                target.number() shouldBe 0
                StandIn.calls() shouldContainExactly
                    listOf(
                        "mlx5dv_create_qp type=0xff comp_mask=0x1 ops=0x0 send=0 recv=0 srq=1 mlx5=0x2 dc=1 " +
                            "key=0x${java.lang.Long.toHexString(KEY)}",
                    )
                mlx5.activateTarget(target, ConnectOptions.DEFAULTS)
                StandIn.calls() shouldContainExactly
                    listOf(
                        "ibv_modify_qp state=1 mask=0x39", // STATE, ACCESS_FLAGS, PKEY_INDEX, PORT
                        "ibv_modify_qp state=2 mask=0x8181", // STATE, AV, PATH_MTU, MIN_RNR_TIMER
                    )
                target.number() shouldBe 0xabcdef
                target.describe() shouldBe "queue pair 11259375 (DRIVER) on null0"
                target.query().address().globalRoute()!!.sgidIndex() shouldBe 0
            }
        }

        test("should tell the driver the target of each request, beside what the operation needs") {
            bench {
                val initiator = initiator()
                StandIn.calls()
                initiator.postWith {
                    it.send(1).from(memory.slice(0, 8)).to(address, 0x11, KEY).signaled()
                    it.write(2, 0x7000, 0x22).from(memory.slice(0, 16)).to(address, 0x12, 5L)
                    it.read(3, 0x7008, 0x23).into(memory.slice(0, 24)).to(address, 0x13, 6) // an int is a key, too
                    it.fetchAndAdd(4, 0x7010, 0x24, 9).into(memory.slice(0, 8)).to(address, 0x14, -1)
                }
                StandIn.calls() shouldContainExactly
                    listOf(
                        "send id=1 flags=2",
                        "dc_addr own=1 of=null0 number=0x11 key=0x${java.lang.Long.toHexString(KEY)}",
                        "sge length=8",
                        "write id=2 rkey=0x22 address=0x7000",
                        "dc_addr own=1 of=null0 number=0x12 key=0x5",
                        "sge length=16",
                        "read id=3 rkey=0x23 address=0x7008",
                        "dc_addr own=1 of=null0 number=0x13 key=0x6",
                        "sge length=24",
                        "fetch_add rkey=0x24 address=0x7010 add=9",
                        "dc_addr own=1 of=null0 number=0x14 key=0xffffffff",
                        "sge length=8",
                    )
            }
        }

        test("should refuse a request without a target, and none before it in a list used again") {
            bench {
                val initiator = initiator()
                val list = SendRequests()
                repeat(2) {
                    list.clear()
                    repeat(3) { id -> list.send(id.toLong()).from(memory.slice(0, 8)).to(address, 1, KEY) }
                    initiator.post(list)
                    list.clear()
                    list.send(1).from(memory.slice(0, 8)).to(address, 1, KEY)
                    list.write(2, 0x7000, 1).from(memory.slice(0, 8))
                    StandIn.calls()
                    val refusal = shouldThrow<WorkRequestException> { initiator.post(list) }
                    refusal.index() shouldBe 1
                    refusal.message shouldContain "add to(addressHandle, number, key)"
                    StandIn.calls() shouldBe listOf()
                }
            }
        }

        test("should refuse what an initiator was not made for, and a bind that names a target") {
            bench {
                val initiator = initiator()
                StandIn.calls()
                shouldThrow<WorkRequestException> {
                    initiator.postWith { it.localInvalidate(1, 5).to(address, 1, KEY) }
                }.errnoName() shouldBe "EINVAL"
                val window = pd.memoryWindow(MemoryWindowType.TYPE_2)
                shouldThrow<IllegalStateException> {
                    SendRequests().bind(1, window, 5, memory.slice(), 0).to(address, 1, KEY)
                }.message shouldContain "leave out its to()"
                StandIn.calls() shouldBe listOf()
            }
        }

        test("should not let an address handle be closed while a post uses it, nor be used after its close") {
            bench {
                val initiator = initiator()
                address.close()
                shouldThrow<IllegalStateException> {
                    initiator.postWith { it.write(1, 0x7000, 1).from(memory.slice(0, 8)).to(address, 1, KEY) }
                }.message shouldContain "address handle on null0 is closed"
            }
        }

        test("should leave the peer's memory of a request alone that has a destination, and UD its rule") {
            bench {
                val datagrams = pd.queuePair(QueuePairInitAttributes.of(UD, cq))
                val refusal =
                    shouldThrow<WorkRequestException> {
                        datagrams.postWith { it.write(1, 0x7000, 1).from(memory.slice(0, 8)).to(address, 1, 2) }
                    }
                refusal.message shouldContain "no other request has an address there"
                shouldThrow<WorkRequestException> {
                    datagrams.postWith { it.send(1).from(memory.slice(0, 8)).to(address, 1, KEY) }
                }.message shouldContain "add to(addressHandle, queuePairNumber, qkey)"
                datagrams.postWith { it.send(1).from(memory.slice(0, 8)).to(address, 1, 2) }
            }
        }

        test("should let a target send nothing and receive by its shared queue alone") {
            bench {
                val target = target()
                val refusal =
                    shouldThrow<WorkRequestException> {
                        target.postWith { it.send(1).from(memory.slice(0, 8)).to(address, 1, KEY) }
                    }
                refusal.errnoName() shouldBe "EOPNOTSUPP"
                shouldThrow<WorkRequestException> { target.postReceive(1, memory.slice()) }.errnoName() shouldBe
                    "EINVAL"
                srq.postReceive(1, memory.slice())
            }
        }

        test("should refuse attributes that do not fit, before the driver is asked") {
            bench {
                StandIn.calls()
                shouldThrow<IllegalArgumentException> { mlx5.dciQueuePair(pd, attributes.with(srq)) }
                shouldThrow<IllegalArgumentException> { mlx5.dct(pd, attributes, KEY) }.message shouldContain
                    "with(srq)"
                shouldThrow<IllegalArgumentException> { mlx5.dciQueuePair(pd, QueuePairInitAttributes.of(RC, cq)) }
                    .message shouldContain "not RC"
                val outer = this
                bench {
                    val other = this
                    shouldThrow<IllegalArgumentException> { outer.mlx5.dciQueuePair(other.pd, attributes) }
                }
                StandIn.calls() shouldContainExactly listOf("mlx5dv_is_supported null0")
            }
        }

        test("should say that a device has no DC, and name another refusal, and leave nothing behind") {
            bench {
                StandIn.set(Option.REFUSE, 95)
                val missing = shouldThrow<UnsupportedVerbException> { initiator() }
                missing.operation() shouldBe "mlx5dv_create_qp"
                missing.message shouldContain "on devices with DC"
                StandIn.set(Option.REFUSE, 12)
                shouldThrow<RdmaSystemException> { target() }.errnoName() shouldBe "ENOMEM"
                StandIn.live(Kind.QP) shouldBe 0
            }
        }

        test("should destroy both before what they were made from, and keep one that the driver keeps") {
            bench {
                val initiator = initiator()
                val target = target()
                StandIn.live(Kind.QP) shouldBe 2
                StandIn.keep(Kind.QP)
                shouldThrow<RdmaSystemException> { initiator.close() }.operation() shouldBe "ibv_destroy_qp"
                StandIn.live(Kind.QP) shouldBe 2
                StandIn.keep(null)
                cq.close()
                StandIn.live(Kind.QP) shouldBe 0
                listOf(initiator, target).none { it.isOpen } shouldBe true
                shouldThrow<IllegalStateException> {
                    initiator.postWith { it.send(1).to(address, 1, KEY) }
                }.message shouldContain "is closed"
                target.number() shouldBe 0
            }
        }
    })
