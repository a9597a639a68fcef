package org.kverbs.management.transport

import org.kverbs.CompletionChannel
import org.kverbs.CompletionHandler
import org.kverbs.CompletionQueue
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.RdmaException
import org.kverbs.Resource
import org.kverbs.WorkCompletion
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.LinkLayer
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.dsl.TypedQueuePair
import org.kverbs.dsl.UD
import org.kverbs.dsl.UdVerbs
import org.kverbs.dsl.activate
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.endpoint
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.structures.Lid
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread

private const val BATCH = 64
private const val CLASS_AT = 1
private const val BY_LID = 0x01
private const val BY_DIRECTED_ROUTE = 0x81
private const val MEMBERSHIP = 0x8000
private val wait = Duration.ofSeconds(10)

/**
 * Management datagrams over a queue pair of the program's own, of the type UD. It needs no umad and no kernel module:
 * two programs exchange datagrams of general services, on any RDMA device, the embedded one among them. Long messages
 * are cut and joined by an `RmppTransport` above it.
 *
 * ```
 * val transport = UdTransport.open(pd)
 * fabric(transport).use { fabric -> println(fabric.get<ClassPortInfo>(transport.pathTo(peer))) }
 * ```
 *
 * The peer is another such queue pair, whose [endpoint] it tells, or queue pair 1 of a port, where its kernel has
 * agents of umad. Subnet management goes over queue pair 0, which no program has.
 *
 * What arrives while the program is slower than the fabric waits in memory that is bounded by
 * [UdTransportBuilder.receives]; more is lost, as on the wire.
 *
 * Threads: any thread can call. One daemon thread waits for datagrams. [close] closes what [open] made, not the
 * protection domain. Closing the domain or its context closes the transport, too.
 */
public class UdTransport private constructor(
    private val pd: ProtectionDomain,
    private val options: ConnectOptions,
    private val made: Made,
    settings: UdTransportBuilder,
) : MadTransport {
    private val context = pd.context()
    private val number = options.port()
    private val attributes = context.queryPort(number)
    private val isRoce = attributes.linkLayer() == LinkLayer.ETHERNET
    private val partitionKey = context.queryPkey(number, options.pkeyIndex())
    private val gidIndex = options.gidIndex().takeIf { it >= 0 } ?: context.defaultGidIndex(number)
    private val addresses = UdAddresses(pd, settings.addresses)
    private val sends = UdSends(made.qp, made.sendCq, made.memory, addresses, settings.sends, options.qkey())
    private val senders = UdSenders(pd, number, partitionKey) { context.queryPort(number) }
    private val hasReceiver = AtomicBoolean()
    private val isClosed = AtomicBoolean()

    /** What a peer needs to send to this queue pair; [QueuePairEndpoint.toText] makes a line of it. */
    public val endpoint: QueuePairEndpoint = made.qp.endpoint(options)

    /** How many address handles it has. */
    internal val addressCount: Int get() = addresses.size

    /** The resources of the transport. */
    private class Made(
        val channel: CompletionChannel,
        val receiveCq: CompletionQueue,
        val sendCq: CompletionQueue,
        val memory: MemoryRegion,
        val receivesAt: Long,
        val room: Long,
        val qp: TypedQueuePair<UdVerbs>,
    ) {
        fun place(index: Long) = memory.slice(receivesAt + index * room, room)
    }

    /** Returns the path to another queue pair. */
    public fun pathTo(peer: QueuePairEndpoint): LidPath {
        val lid = Lid(peer.lid())
        val path = LidPath(if (lid.isUnicast) lid else Lid(1), destinationQueuePair = peer.queuePairNumber())
        return path.copy(partitionKey = partitionKey, globalRoute = if (peer.gid().isZero) null else route(peer.gid()))
    }

    /** Returns the path to the general services of a port, queue pair 1, by its GID. */
    public fun pathTo(gid: Gid): LidPath = LidPath(Lid(1), partitionKey = partitionKey, globalRoute = route(gid))

    private fun route(gid: Gid) = GlobalRoute(gid, 0, gidIndex, GlobalRoute.DEFAULT_HOP_LIMIT, 0)

    override fun port(): MadPort {
        check(made.qp.queuePair.isOpen) { CLOSED }
        return UdPort.of(context, number)
    }

    override fun receive(receiver: MadReceiver) {
        check(hasReceiver.compareAndSet(false, true)) { "the transport has a receiver; one transport serves one" }
        thread(isDaemon = true, name = "kverbs-ud-$this") { deliver(receiver) }
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        check(!isClosed.get()) { CLOSED }
        require(mad.size == MAD_SIZE) { "a management datagram has $MAD_SIZE bytes, not ${mad.size}" }
        val mgmtClass = mad[CLASS_AT].toInt() and 0xff
        if (path !is LidPath || mgmtClass == BY_LID || mgmtClass == BY_DIRECTED_ROUTE) {
            throw MadTransportException(
                "$this carries general services only: subnet management needs a port of umad, such as endPort().fabric()",
            )
        }
        if ((path.partitionKey xor partitionKey) and MEMBERSHIP.inv() != 0) {
            throw MadTransportException(
                "$this is in the partition 0x${partitionKey.toString(16)}, and $path is not: " +
                    "open another transport with its partitionKeyIndex",
            )
        }
        sends.send(mad, address(path), path.destinationQueuePair)
    }

    private fun address(path: LidPath): AddressAttributes {
        val route = path.globalRoute
        if (isRoce && route == null) {
            throw MadTransportException(
                "$this is on RoCE, which has no LIDs: give a path with a GID, as roce(gid) does",
            )
        }
        val address = AddressAttributes.builder().port(number).serviceLevel(path.serviceLevel)
        if (!isRoce) {
            address.destinationLid(path.destination.value)
            path.source?.let { address.sourcePathBits(it.value and (1 shl attributes.lmc()) - 1) }
        }
        route?.let { address.globalRoute(it) }
        return address.build()
    }

    private fun deliver(receiver: MadReceiver) {
        val handler = CompletionHandler { take(it, receiver) }
        val cq = made.receiveCq
        try {
            while (true) {
                if (cq.poll(handler, BATCH) > 0) continue
                cq.arm()
                if (cq.poll(handler, BATCH) == 0 && made.channel.awaitEvent(wait) != null) cq.ackEvents()
            }
        } catch (e: IllegalStateException) {
            if (made.qp.queuePair.isOpen && made.channel.isOpen) uncaught(e)
        } catch (e: RdmaException) {
            if (made.qp.queuePair.isOpen && made.channel.isOpen) uncaught(e)
        }
    }

    /** Copies a datagram, posts its memory again, and only then hands it on. */
    private fun take(
        completion: WorkCompletion,
        receiver: MadReceiver,
    ) {
        // Flushed: the queue pair is being closed.
        if (!completion.isSuccess || isClosed.get()) return
        val place = made.place(completion.workRequestId())
        val length = completion.byteLength() - GRH_SIZE
        var path: LidPath? = null
        val mad = place.memory().asSlice(GRH_SIZE.toLong(), maxOf(0, length)).toArray(JAVA_BYTE)
        try {
            path = senders.path(completion, place.memory())
        } catch (_: RdmaException) {
            // A sender that cannot be answered, such as one of another kind of address.
        }
        made.qp.postReceive(place, completion.workRequestId())
        if (path == null) return
        guarded { receiver.received(mad, path) }
    }

    private fun uncaught(e: RuntimeException) {
        val thread = Thread.currentThread()
        thread.uncaughtExceptionHandler.uncaughtException(thread, e)
    }

    override fun close() {
        if (!isClosed.compareAndSet(false, true)) return
        closeAll(made.qp.queuePair, made.receiveCq, made.sendCq, made.channel, addresses, made.memory)
    }

    /** Names the port. */
    override fun toString(): String = "${context.device().name()}/$number QP ${made.qp.queuePair.number()}"

    /** Opens a queue pair for management datagrams. */
    public companion object {
        private const val CLOSED = "the transport is closed"

        /**
         * Makes a queue pair, and begins to receive.
         *
         * @throws org.kverbs.RdmaSystemException if the device refuses; EPERM stands for the Q_Key, which newer kernels
         *   allow root only
         */
        public fun open(
            pd: ProtectionDomain,
            configure: UdTransportBuilder.() -> Unit = {},
        ): UdTransport {
            val settings = UdTransportBuilder().apply(configure)
            val options = settings.options()
            val made = ArrayList<AutoCloseable>()
            try {
                return open(pd, options, settings) { made += it }
            } catch (e: RuntimeException) {
                closeAll(*made.asReversed().toTypedArray())
                throw e
            }
        }

        private fun open(
            pd: ProtectionDomain,
            options: ConnectOptions,
            settings: UdTransportBuilder,
            keep: (Resource) -> Unit,
        ): UdTransport {
            val context = pd.context()
            // A datagram that is longer than its room would stop the queue pair, and anybody can send one. The MTU that is
            // active now can grow.
            val room = GRH_SIZE + context.queryPort(options.port()).maxMtu().bytes().toLong()
            val receivesAt = settings.sends.toLong() * MAD_SIZE
            val memory = pd.memoryRegion(receivesAt + settings.receives * room, LOCAL_WRITE).also(keep)
            val channel = context.completionChannel().also(keep)
            val receiveCq =
                context
                    .completionQueue {
                        entries(settings.receives)
                        channel(channel)
                    }.also(keep)
            val sendCq = context.completionQueue { entries(settings.sends) }.also(keep)
            val qp =
                pd.qp(UD) {
                    sendCq(sendCq)
                    recvCq(receiveCq)
                    maxSendWr(settings.sends)
                    maxRecvWr(settings.receives)
                }
            keep(qp.queuePair)
            val made = Made(channel, receiveCq, sendCq, memory, receivesAt, room, qp)
            qp.queuePair.init(options)
            for (index in 0L until settings.receives) qp.postReceive(made.place(index), index)
            qp.activate(options)
            return UdTransport(pd, options, made, settings)
        }
    }
}
