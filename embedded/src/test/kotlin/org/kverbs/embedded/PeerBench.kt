package org.kverbs.embedded

import org.kverbs.AddressHandle
import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SharedReceiveQueue
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.Feature
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.Gids
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.time.Duration

/** A packet that the device sent. */
internal data class Sent(
    val opcode: Int,
    val psn: Int,
    val syndrome: Int,
    val bytes: Int,
)

/** The headers of a packet that the device sent, as far as they lead it to its destination. */
internal data class Header(
    val destination: Long,
    val queuePair: Int,
    val migrated: Boolean,
    val trafficClass: Int,
)

/** A queue pair whose peer is the spec, packet by packet. Both directions begin with PSN 0, and the window is small. */
internal open class PeerBench(
    type: QueuePairType = QueuePairType.RC,
    timeout: Int = 10,
    reads: Int = 2,
    bytes: Long = 1 shl 16,
    srqEntries: Int = 0,
    window: Int = 16,
    features: Set<Feature> = emptySet(),
) : AutoCloseable {
    private val self = 0xffff_c612_0001
    private val peer = 0xffff_c612_0002
    private val engine = Engine(true).also { it.onFailure { failure -> throw failure } }
    private val hca = Hca("device", 1, engine, Gids(0, self), 4096, java.util.Random(1))
    private val payload = Arena.ofAuto().allocate(4096, 8)
    val sent = mutableListOf<Sent>()

    /** Stands for the packets that have arrived and were not taken: see PacketPort.catchUp. */
    var catchUp: () -> Boolean = { true }

    /** The headers of the packets in [sent]. */
    val headers = mutableListOf<Header>()
    val context: Context = Device.of(EmbeddedProvider(), EmbeddedDevice(hca.also { it.connect(Ear(window)) })).open()
    private val pd = context.protectionDomain()
    val cq: CompletionQueue = context.completionQueue(64)
    val mr: MemoryRegion =
        pd.memoryRegion(
            bytes,
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC,
            AccessFlag.FLUSH_GLOBAL,
        )
    val srq: SharedReceiveQueue? =
        if (srqEntries > 0) {
            pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(srqEntries, 1))
        } else {
            null
        }
    val qp: QueuePair =
        pd.queuePair(
            QueuePairInitAttributes(
                type,
                cq,
                cq,
                srq,
                QueuePairCapabilities(16, 16, 2, 2, 0),
                false,
                features.isNotEmpty(),
                features,
            ),
        )

    private val path = AddressAttributes.builder().port(1).globalRoute(GlobalRoute(FuzzSpec.PEER, 0, 0, 64, 0)).build()

    /** The destination of datagrams to the peer. */
    val toPeer: AddressHandle by lazy { pd.addressHandle(path) }

    init {
        val access =
            setOf(
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_ATOMIC,
                AccessFlag.FLUSH_GLOBAL,
            )
        val reliable = type == QueuePairType.RC
        val sender = type == QueuePairType.XRC_SEND
        val init = QueuePairAttributes.builder().state(QueuePairState.INIT).pkeyIndex(0).port(1)
        val receive = QueuePairAttributes.builder().state(QueuePairState.RTR)
        if (type == QueuePairType.UD) {
            init.qkey(QKEY)
        } else {
            init.accessFlags(access)
            receive.address(path).pathMtu(Mtu.MTU_256).destQpn(2).rqPsn(0)
        }
        val send = QueuePairAttributes.builder().state(QueuePairState.RTS).sqPsn(0)
        if (reliable) {
            receive.maxDestReadAtomic(reads).minRnrTimer(1)
        }
        if (reliable || sender) {
            send.timeout(timeout).retryCount(3).rnrRetry(7).maxReadAtomic(2)
        }
        listOf(init, receive, send).forEach { qp.modify(it.build()) }
    }

    /** Lets a packet arrive, and returns what the device sends at once. */
    fun arrive(
        opcode: Int,
        psn: Int,
        packet: Packet.() -> Unit = {},
    ): List<Sent> = arriveTogether(packet(opcode, psn, packet))

    /**
     * Lets packets arrive together, as from a socket, and returns the packets that the device sends at once after the
     * last.
     */
    fun arriveTogether(vararg packets: Packet): List<Sent> = during { locked { packets.forEach(hca::take) } }

    /** Makes a packet of the peer; [fill] may change any field. */
    fun packet(
        opcode: Int,
        psn: Int,
        fill: Packet.() -> Unit = {},
    ): Packet {
        val arriving = Packet(0)
        arriving.opcode = opcode
        arriving.psn = psn
        arriving.pkey = Hca.PKEY
        arriving.destinationQp = qp.number()
        arriving.sourceGidLow = peer
        arriving.destinationGidLow = self
        arriving.qkey = QKEY
        arriving.payload = payload.address()
        arriving.rkey = mr.rkey()
        arriving.remoteAddress = mr.address()
        arriving.fill()
        return arriving
    }

    /** Lets time pass, and returns the packets that the device sends in that time. */
    fun pass(time: Duration): List<Sent> = during { locked { engine.advance(time.toNanos()) } }

    fun during(action: () -> Unit): List<Sent> {
        val before = sent.size
        action()
        return sent.drop(before)
    }

    private fun locked(action: () -> Unit) {
        engine.enter()
        try {
            action()
        } finally {
            engine.leave()
        }
    }

    val scheduled: Int get() = engine.scheduled()

    fun poll(): List<WorkCompletion> {
        val batch = WorkCompletions(64)
        return List(cq.poll(batch)) { batch.get(it).copy() }
    }

    override fun close() = context.close()

    private companion object {
        const val QKEY = 5
    }

    private inner class Ear(
        window: Int,
    ) : OpenLink(window) {
        override fun catchUp() = this@PeerBench.catchUp()

        override fun send(packet: Packet) {
            if (packet.payloadLength > 0) Memory.getByte(packet.payload + packet.payloadLength - 1)
            sent += Sent(packet.opcode, packet.psn, packet.syndrome, packet.payloadLength)
            headers += Header(packet.destinationGidLow, packet.destinationQp, packet.migrated, packet.trafficClass)
        }
    }
}
