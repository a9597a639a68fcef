package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.longs.shouldBeInRange
import io.kotest.matchers.shouldBe
import org.kverbs.FlowAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.DeviceCapability
import org.kverbs.attributes.FlowCounter
import org.kverbs.attributes.FlowType
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.RateLimit
import org.kverbs.embedded.Errno.EAGAIN
import java.time.Duration

private const val FRAME = 64L

/** Many long frames: more bytes than one step copies. */
private const val FRAMES = 256
private const val LONG_FRAME = 4200L
private val anyFrame = FlowAttributes.builder().build()

/** Two ends on two devices of a fabric that exchange Ethernet frames. */
private class Wire(
    val fabric: EmbeddedFabric = EmbeddedFabric.virtual(7),
) : AutoCloseable {
    val here = fabric.addDevice()
    val there = fabric.addDevice()
    val a = End(here, RAW_PACKET, 65_536).apply { qp.activate(ConnectOptions.DEFAULTS) }
    val b = End(there, RAW_PACKET, 65_536).apply { qp.activate(ConnectOptions.DEFAULTS) }

    /** Sends frames, and waits until they were sent. */
    fun transmit(count: Int = 1) {
        repeat(count) { a.post { send(1).from(a.mr.slice(0, FRAME)).signaled() } }
        a.take(count).forEach { it.status() shouldBe SUCCESS }
    }

    fun receive(count: Int = 1) = repeat(count) { b.qp.postReceive(2, b.mr.slice(0, FRAME)) }

    /** Lets the time of the fabric pass, and returns how many frames have arrived since the last call. */
    fun arrived(): Int {
        fabric.clock().advance(Duration.ofSeconds(1))
        return b.poll(64).count { it.status() == SUCCESS }
    }

    override fun close() {
        a.close()
        b.close()
        fabric.close()
    }
}

/** Checks the Ethernet frames of embedded devices: faults on the way, injected failures, and ends in every order. */
class FramesSpec :
    FunSpec({
        test("should carry frames from one device to the others of its fabric, and count them") {
            Wire().use { wire ->
                wire.receive()
                wire.b.qp.flow(anyFrame)
                wire.a.fill(3)
                wire.transmit()
                wire.b.take(1).single().byteLength() shouldBe FRAME
                wire.b.bytes(0, FRAME) shouldBe wire.a.bytes(0, FRAME)
                wire.a.qp.counters()["sent_bytes"] shouldBe FRAME
                wire.b.qp.counters()["rcvd_pkts"] shouldBe 1L
            }
        }

        test("should let others have the device between the steps of many frames") {
            Wire(EmbeddedFabric.realTime(1)).use { wire ->
                val rested =
                    (1..50).any {
                        wire.a.post { repeat(FRAMES) { send(1).from(wire.a.mr.slice(0, LONG_FRAME)).signaled() } }
                        val atOnce = wire.a.poll(FRAMES).size
                        if (atOnce < FRAMES) wire.a.await(FRAMES - atOnce).forEach { it.status() shouldBe SUCCESS }
                        atOnce < FRAMES
                    }
                rested shouldBe true
            }
        }

        test("should tell of its flow rules in the attributes of the device") {
            Wire().use { wire ->
                val attributes = wire.a.context.queryDevice()
                (DeviceCapability.MANAGED_FLOW_STEERING in attributes.capabilities()) shouldBe true
                attributes.maxRawEthyQp() shouldBe attributes.maxQp()
            }
        }

        test("should send no faster than it is told") {
            Wire().use { wire ->
                val paced = wire.a.context.queryDeviceEx().packetPacing()
                RAW_PACKET.isIn(paced.queuePairTypes()) shouldBe true
                wire.b.qp.flow(anyFrame)
                wire.receive(10)
                wire.a.qp.limitRate(RateLimit.ofKbps(8)) // a byte takes 1 ms
                val start = wire.fabric.clock().elapsed()
                wire.transmit(10)
                (wire.fabric.clock().elapsed() - start).toMillis() shouldBeInRange 9 * FRAME..11 * FRAME
                wire.arrived() shouldBe 10
            }
        }

        test("should lose, double, delay and damage frames as it does packets, with the same result by the same seed") {
            fun run(faults: Faults): Int =
                Wire(EmbeddedFabric.virtual(11)).use { wire ->
                    wire.b.qp.flow(anyFrame)
                    wire.fabric.setFaults(faults)
                    wire.receive(200)
                    wire.transmit(100)
                    generateSequence { wire.arrived() }.takeWhile { it > 0 }.sum()
                }
            run(Faults.NONE.loss(1.0)) shouldBe 0
            val lost = run(Faults.NONE.loss(0.3))
            lost shouldBeInRange 50..90
            run(Faults.NONE.loss(0.3)) shouldBe lost
            run(Faults.NONE.duplication(0.5)) shouldBeInRange 125..175
            run(Faults.NONE.corruption(0.5)) shouldBeInRange 25..75
            run(Faults.NONE.delay(Duration.ofMillis(1), Duration.ofMillis(9))) shouldBe 100
        }

        test("should carry no frame while the link of a device is down") {
            Wire().use { wire ->
                wire.b.qp.flow(anyFrame)
                wire.receive(2)
                wire.fabric.linkDown(wire.there)
                wire.transmit()
                wire.arrived() shouldBe 0
                wire.fabric.linkUp(wire.there)
                wire.transmit()
                wire.arrived() shouldBe 1
            }
        }

        test("should refuse each call on rules and counters as a test asks for") {
            Wire().use { wire ->
                val counters = wire.b.context.flowCounters()

                fun refused(
                    operation: Operation,
                    call: () -> Any,
                ) {
                    wire.fabric.inject(wire.there, Failure.of(operation, EAGAIN))
                    shouldThrow<RdmaSystemException> { call() }.errnoName() shouldBe "EAGAIN"
                }
                refused(Operation.CREATE_FLOW) { wire.b.qp.flow(anyFrame) }
                refused(Operation.CREATE_COUNTERS) { wire.b.context.flowCounters() }
                refused(Operation.ATTACH_COUNTERS) { counters.attach(FlowCounter.BYTES, 0) }
                refused(Operation.READ_COUNTERS) { counters.read(1) }
                val flow = wire.b.qp.flow(anyFrame)
                refused(Operation.DESTROY_FLOW) { flow.close() }
                flow.close()
                refused(Operation.DESTROY_COUNTERS) { counters.close() }
                counters.close()
            }
        }

        test("should fail a send and a receive as a test asks for") {
            Wire().use { wire ->
                wire.b.qp.flow(anyFrame)
                wire.receive(2)
                wire.fabric.inject(wire.there, Failure.of(WorkCompletionOpcode.RECV, REM_OP_ERR))
                wire.transmit()
                wire.b.take(2).map { it.status() } shouldBe listOf(REM_OP_ERR, WR_FLUSH_ERR)
                wire.b.qp.state() shouldBe QueuePairState.ERR
                wire.transmit() // its rule leads to a queue pair in ERR
            }
        }

        test("should end the receiver, not the sender, when the receiver's memory is not there any more") {
            Wire().use { wire ->
                val mr = wire.b.pd.memoryRegion(FRAME, LOCAL_WRITE)
                wire.b.qp.flow(anyFrame)
                wire.b.qp.postReceive(3, mr.slice())
                mr.close()
                wire.transmit()
                wire.b.take(1).single().status() shouldBe LOC_PROT_ERR
                wire.b.qp.state() shouldBe QueuePairState.ERR
                wire.a.qp.state() shouldBe QueuePairState.RTS
            }
        }

        test("should send nothing of memory that is not there any more") {
            Wire().use { wire ->
                val mr = wire.a.pd.memoryRegion(FRAME, LOCAL_WRITE)
                val slice = mr.slice()
                wire.b.qp.flow(anyFrame)
                wire.receive()
                mr.close()
                wire.a.post { send(1).from(slice).signaled() }
                wire.a.take(1).single().status() shouldBe LOC_PROT_ERR
                wire.arrived() shouldBe 0
            }
        }

        test("should flush what is posted, and carry frames again after RESET") {
            Wire().use { wire ->
                wire.b.qp.flow(anyFrame)
                wire.receive(2)
                wire.fabric.raise(wire.b.qp, AsyncEventType.QP_FATAL)
                wire.b.take(2).map { it.status() } shouldBe List(2) { WR_FLUSH_ERR }
                wire.b.qp.modify(
                    QueuePairAttributes
                        .builder()
                        .state(QueuePairState.RESET)
                        .build(),
                )
                wire.b.qp.activate(ConnectOptions.DEFAULTS)
                wire.receive()
                wire.transmit()
                wire.arrived() shouldBe 1
            }
        }

        test("should not give a packet of RoCE to a raw packet queue pair, nor a frame to one of RoCE") {
            Wire().use { wire ->
                val datagrams = End(wire.here, QueuePairType.UD, 4096)
                datagrams.qp.activate(ConnectOptions.DEFAULTS)
                wire.b.qp.flow(FlowAttributes.builder().type(FlowType.SNIFFER).build())
                wire.receive()
                val address =
                    datagrams.qp.addressHandle(
                        End(wire.there, QueuePairType.UD, 64).use { it.qp.endpoint() },
                        ConnectOptions.DEFAULTS,
                    )
                datagrams.post { send(1).from(datagrams.mr.slice(0, 8)).to(address, wire.b.qp.number(), 0).signaled() }
                datagrams.take(1).single().status() shouldBe SUCCESS
                wire.arrived() shouldBe 0
                datagrams.close()
            }
        }

        test("should forget the rules of a context that is closed, and of a device that is cut off") {
            Wire().use { wire ->
                val other = End(wire.there, RAW_PACKET, 4096)
                other.qp.activate(ConnectOptions.DEFAULTS)
                repeat(100) { other.qp.flow(anyFrame) }
                wire.receive()
                other.qp.postReceive(9, other.mr.slice())
                other.close()
                wire.transmit()
                wire.arrived() shouldBe 0
                val flow = wire.b.qp.flow(anyFrame)
                wire.fabric.kill(wire.there)
                flow.close()
                wire.transmit()
            }
        }

        test("should bound the number of rules, and give their room back") {
            Wire().use { wire ->
                val flows = List(8192) { wire.b.qp.flow(anyFrame) }
                shouldThrow<RdmaSystemException> { wire.b.qp.flow(anyFrame) }.errnoName() shouldBe "ENOMEM"
                flows.first().close()
                wire.b.qp.flow(anyFrame)
            }
        }

        test("should close rules in any order, from many threads, while frames arrive") {
            Wire(EmbeddedFabric.realTime(5)).use { wire ->
                wire.receive(200)
                val threads =
                    List(4) {
                        Thread.ofPlatform().start {
                            repeat(200) {
                                val one = wire.b.qp.flow(anyFrame)
                                val two = wire.b.qp.flow(anyFrame)
                                one.close()
                                two.close()
                            }
                        }
                    }
                wire.transmit(100)
                threads.forEach { it.join() }
                val received = wire.b.poll(200)
                received.size shouldBeLessThan 101
                received.forEach { it.status() shouldBe SUCCESS }
            }
        }
    })
