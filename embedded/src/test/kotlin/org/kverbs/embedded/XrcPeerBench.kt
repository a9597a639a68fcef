package org.kverbs.embedded

import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.SharedReceiveQueue
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.XrcDomain
import org.kverbs.XrcReceiveQueuePair
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.Gids
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import java.lang.foreign.Arena

/** An XRC_RECV queue pair whose peer is the spec, packet by packet; its first PSN is 0. */
internal class XrcPeerBench : AutoCloseable {
    private val self = 0xffff_c612_0001
    private val peer = 0xffff_c612_0002
    private val engine = Engine(true).also { it.onFailure { failure -> throw failure } }
    private val hca = Hca("device", 1, engine, Gids(0, self), 4096, java.util.Random(1))
    private val payload = Arena.ofAuto().allocate(4096, 8)
    private val sent = mutableListOf<Sent>()
    val context: Context = Device.of(EmbeddedProvider(), EmbeddedDevice(hca.also { it.connect(Ear()) })).open()
    val pd: ProtectionDomain = context.protectionDomain()
    val cq: CompletionQueue = context.completionQueue(64)
    val mr: MemoryRegion = region(pd)
    val domain: XrcDomain = context.xrcDomain()
    val srq: SharedReceiveQueue = queue()
    val receiver: XrcReceiveQueuePair = domain.queuePair()

    init {
        val path =
            AddressAttributes.builder().port(1).globalRoute(GlobalRoute(FuzzSpec.PEER, 0, 0, 64, 0)).build()
        val access = setOf(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
        listOf(
            QueuePairAttributes.builder().state(QueuePairState.INIT).pkeyIndex(0).port(1).accessFlags(access),
            QueuePairAttributes
                .builder()
                .state(QueuePairState.RTR)
                .address(path)
                .pathMtu(Mtu.MTU_256)
                .destQpn(2)
                .rqPsn(0)
                .maxDestReadAtomic(2)
                .minRnrTimer(1),
        ).forEach { receiver.modify(it.build()) }
    }

    fun region(pd: ProtectionDomain): MemoryRegion =
        pd.memoryRegion(
            1 shl 16,
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC,
        )

    fun queue(
        pd: ProtectionDomain = this.pd,
        domain: XrcDomain = this.domain,
        cq: CompletionQueue = this.cq,
    ): SharedReceiveQueue = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(8, 2), domain, cq)

    /**
     * Lets a packet of XRC arrive that names [srq], and returns what the device sends at once. [operation] is the
     * opcode that RC has for it; [fill] may change any field.
     */
    fun arrive(
        operation: Int,
        psn: Int,
        fill: Packet.() -> Unit = {},
    ): List<Sent> {
        val packet = Packet(0)
        packet.opcode = Opcode.XRC or operation
        packet.psn = psn
        packet.pkey = Hca.PKEY
        packet.destinationQp = receiver.number()
        packet.sharedQueue = srq.takeIf { it.isOpen }?.number() ?: 0
        packet.sourceGidLow = peer
        packet.destinationGidLow = self
        packet.payload = payload.address()
        packet.rkey = mr.rkey()
        packet.remoteAddress = mr.address()
        packet.fill()
        return during {
            engine.enter()
            try {
                hca.take(packet)
            } finally {
                engine.leave()
            }
        }
    }

    /** Lets time pass, and returns the packets that the device sends in that time. */
    fun pass(nanos: Long): List<Sent> =
        during {
            engine.enter()
            try {
                engine.advance(nanos)
            } finally {
                engine.leave()
            }
        }

    private fun during(action: () -> Unit): List<Sent> {
        val before = sent.size
        action()
        return sent.drop(before)
    }

    fun poll(cq: CompletionQueue = this.cq): List<WorkCompletion> {
        val batch = WorkCompletions(64)
        return List(cq.poll(batch)) { batch.get(it).copy() }
    }

    val errors: Long get() = context.device().counters(1).getValue("port_rcv_errors")

    override fun close() = context.close()

    private inner class Ear : OpenLink(16) {
        override fun send(packet: Packet) {
            sent += Sent(packet.opcode, packet.psn, packet.syndrome, packet.payloadLength)
        }
    }
}
