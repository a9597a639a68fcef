package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.FlowAttributes
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus.LOC_QP_OP_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.attributes.AesGcmKey
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.EspAttributes
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.RateLimit
import org.kverbs.embedded.Errno.EAGAIN
import java.nio.ByteBuffer
import java.time.Duration

private const val MOST = 1 shl 18
private const val SEGMENT = 1000

/** Ethernet, IPv4 and TCP. */
private val header: ByteArray =
    ByteBuffer
        .allocate(54)
        .put(ByteArray(12))
        .putShort(0x0800)
        .put(0x45)
        .put(ByteArray(8))
        .put(6)
        .put(ByteArray(10))
        .put(ByteArray(12))
        .put(0x50)
        .put(ByteArray(7))
        .array()

/** A sender that segments, and a receiver of every frame on another device. */
private class Offload : AutoCloseable {
    val fabric: EmbeddedFabric = EmbeddedFabric.virtual(7)
    val there = fabric.addDevice()
    val here = fabric.addDevice()
    val a = End(here, RAW_PACKET, MOST.toLong())
    val b =
        End(there, RAW_PACKET, 65_536, QueuePairCapabilities(1, 512, 1, 1, 0)).apply {
            qp.activate(ConnectOptions.DEFAULTS)
        }
    val sender: QueuePair =
        a.pd
            .queuePair(QueuePairInitAttributes.of(RAW_PACKET, a.cq).withMaxTsoHeader(header.size))
            .apply { activate(ConnectOptions.DEFAULTS) }

    init {
        b.qp.flow(FlowAttributes.builder().build())
        repeat(300) { b.qp.postReceive(2, b.mr.slice(0, 2000)) }
    }

    fun send(payload: Int) =
        sender.postWith { it.sendSegmented(1, header, SEGMENT).from(a.mr.slice(0, payload.toLong())).signaled() }

    fun frames(): Int = b.poll(300).count { it.status() == SUCCESS }

    override fun close() {
        a.close()
        b.close()
        fabric.close()
    }
}

/** Tests sends in segments and flow actions under what only the embedded device has: time, faults and failures. */
class OffloadSpec :
    FunSpec({
        test("should tell the truth of its limits, and keep them") {
            Offload().use { wire ->
                val limits = wire.a.context.queryDeviceEx().segmentation()
                limits.maxTso() shouldBe MOST
                listOf(RAW_PACKET, UD).all { it.isIn(limits.queuePairTypes()) } shouldBe true
                wire.send(MOST)
                wire.a.take(1).single().status() shouldBe SUCCESS
                wire.frames() shouldBe (MOST + SEGMENT - 1) / SEGMENT
                val long = QueuePairInitAttributes.of(RAW_PACKET, wire.a.cq).withMaxTsoHeader(257)
                shouldThrow<RdmaSystemException> { wire.a.pd.queuePair(long) }.message shouldContain "limit of 256"
            }
        }

        test("should send a segment each time the rate allows, and finish a begun send in a drained queue") {
            Offload().use { wire ->
                wire.sender.limitRate(RateLimit.ofKbps(8)) // a byte takes 1 ms, a segment 1054
                wire.send(5 * SEGMENT)
                wire.send(SEGMENT)
                wire.fabric.clock().advance(Duration.ofMillis(2500))
                wire.frames() shouldBe 3
                wire.a.poll(1) shouldBe emptyList()
                wire.sender.modify(QueuePairAttributes.builder().state(QueuePairState.SQD).build())
                wire.fabric.clock().advance(Duration.ofSeconds(10))
                wire.frames() shouldBe 2
                wire.a.poll(2).map { it.opcode() } shouldBe listOf(WorkCompletionOpcode.TSO)
                wire.sender.modify(QueuePairAttributes.builder().state(QueuePairState.RTS).build())
                wire.fabric.clock().advance(Duration.ofSeconds(10))
                wire.frames() shouldBe 1
                wire.a.take(1).single().status() shouldBe SUCCESS
            }
        }

        test("should flush a send whose segments have not all left, once") {
            Offload().use { wire ->
                wire.sender.limitRate(RateLimit.ofKbps(8))
                wire.send(5 * SEGMENT)
                wire.fabric.clock().advance(Duration.ofMillis(1500))
                wire.fabric.raise(wire.sender, AsyncEventType.QP_FATAL)
                wire.a.take(1).single().status() shouldBe WR_FLUSH_ERR
                wire.frames() shouldBe 2
                wire.fabric.clock().advance(Duration.ofSeconds(10))
                wire.frames() shouldBe 0
                wire.a.poll(1) shouldBe emptyList()
            }
        }

        test("should fail a send in segments as a test asks for, before its first segment") {
            Offload().use { wire ->
                wire.fabric.inject(wire.here, Failure.of(WorkCompletionOpcode.TSO, LOC_QP_OP_ERR))
                wire.send(3 * SEGMENT)
                wire.a.take(1).single().status() shouldBe LOC_QP_OP_ERR
                wire.frames() shouldBe 0
            }
        }

        test("should refuse each call on flow actions as a test asks for") {
            Offload().use { wire ->
                fun refused(
                    operation: Operation,
                    call: () -> Any,
                ) {
                    wire.fabric.inject(wire.there, Failure.of(operation, EAGAIN))
                    shouldThrow<RdmaSystemException> { call() }.errnoName() shouldBe "EAGAIN"
                }
                val attributes =
                    EspAttributes
                        .decrypting(AesGcmKey.of(ByteArray(16), ByteArray(4)))
                        .inTransportMode()
                        .fullOffload(1, 0)
                val action = wire.b.context.espFlowAction(attributes)
                refused(Operation.CREATE_FLOW_ACTION) { wire.b.context.espFlowAction(attributes) }
                refused(Operation.MODIFY_FLOW_ACTION) { action.modify(attributes) }
                refused(Operation.DESTROY_FLOW_ACTION) { action.close() }
                action.close()
            }
        }

        test("should refuse allocators of parent domains, as its queues are objects of Java") {
            Offload().use { wire ->
                wire.a.context.supports(Feature.DOMAIN_ALLOCATOR) shouldBe false
                val refusal =
                    shouldThrow<UnsupportedVerbException> {
                        wire.a.pd.parentDomain { _, _, _ -> error("is not called") }
                    }
                refusal.operation() shouldBe "ibv_alloc_parent_domain"
                refusal.advice() shouldContain "Leave the allocator out"
            }
        }

        test("should keep a region in its domain if the move fails, and count the memory in the new domain") {
            Offload().use { wire ->
                val next = wire.a.context.protectionDomain()
                wire.fabric.inject(wire.here, Failure.of(Operation.REREGISTER_MEMORY, EAGAIN))
                shouldThrow<RdmaSystemException> { wire.a.mr.reregister(next) }.errnoName() shouldBe "EAGAIN"
                wire.a.mr.protectionDomain() shouldBe wire.a.pd
                wire.a.mr.reregister(next)
                wire.a.pd.close()
                wire.a.mr.isOpen shouldBe true
                next.close()
                wire.a.mr.isOpen shouldBe false
            }
        }
    })
