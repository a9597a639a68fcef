package org.kverbs.management.transport

import org.kverbs.RdmaSystemException
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.port.EndPort
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Lid
import org.kverbs.umad.UmadAddress
import org.kverbs.umad.UmadMessage
import org.kverbs.umad.UmadPort
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration

private const val CLASS_AT = 1
private const val METHOD_AT = 3
private const val RESPONSE = 0x80
private const val SEGMENT_HEADER = 36
private const val BY_LID = 0x01
private const val BY_DIRECTED_ROUTE = 0x81
private const val PERMISSIVE = 0xffff

private const val FLAGS_AT = 26
private const val ACTIVE = 1

/** The method of a datagram that is neither answered nor an answer. */
private const val SEND = 0x03
private const val TRAP_REPRESS = 0x07

private const val EINVAL = 22
private const val ETIMEDOUT = 110

/**
 * A port of this machine, through the kernel's module ib_umad and libibumad. The kernel leads answers back, and cuts
 * and joins the long messages of subnet administration and of vendors' classes with an OUI.
 *
 * ```
 * UmadTransport.open(endPort("mlx5_0/1")).use { transport -> println(transport.port()) }
 * ```
 *
 * Requests of other ports arrive for the classes that [serve] names, of which `Fabric.serve` makes use.
 *
 * RoCE carries general services only, to paths with a global route; subnet management is InfiniBand's.
 *
 * @property endPort the port
 */
public class UmadTransport private constructor(
    public val endPort: EndPort,
    private val umad: UmadPort,
) : MadTransport {
    private val agents = UmadAgents(umad)
    private val requests = UmadRequests()
    private val tables = PortTables(endPort)
    private val hasReceiver = AtomicBoolean()

    override val carriesLongMessages: Boolean get() = true

    override fun port(): MadPort {
        check(umad.isOpen) { "the transport is closed" }
        if (!endPort.exists) throw MadTransportException("$endPort is gone: `rdma link` lists the devices there are")
        val ofDevice = endPort
        val node =
            NodeInfo {
                baseVersion = 1
                classVersion = 1
                ofDevice.nodeType?.let { nodeType = it }
                numPorts = ofDevice.portCount
                ofDevice.systemImageGuid?.let { systemImageGUID = it }
                ofDevice.nodeGuid?.let { nodeGUID = it }
                ofDevice.portGuid?.let { portGUID = it }
                localPortNum = ofDevice.number
            }
        val info =
            PortInfo {
                ofDevice.defaultGid?.let { gidPrefix = it.subnetPrefix() }
                ofDevice.lid?.let { lid = it }
                ofDevice.subnetManagerLid?.let { masterSMLID = it }
                ofDevice.capabilityMask?.let { capabilityMask = it }
                localPortNum = ofDevice.number
                ofDevice.state?.let { portState = it }
                ofDevice.physicalState?.let { portPhysicalState = it }
                lmc = ofDevice.lmc
                masterSMSL = ofDevice.subnetManagerServiceLevel
            }
        return MadPort(endPort.device, node, info)
    }

    override fun receive(receiver: MadReceiver) {
        check(hasReceiver.compareAndSet(false, true)) { "the transport has a receiver; one transport serves one" }
        thread(isDaemon = true, name = "kverbs-umad-$endPort") { deliver(receiver) }
    }

    /**
     * Makes the kernel hand over the requests of other ports.
     *
     * @throws MadTransportException if another program has one of the methods, or the port has no such class; the
     *   message says what to do
     */
    override fun serve(service: ServedClass): AutoCloseable =
        try {
            agents.serve(service)
        } catch (e: RdmaSystemException) {
            throw MadTransportException("$endPort does not serve ${service.mgmtClass}: ${e.message}", e)
        }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ): Unit = send(mad, path, PATIENCE)

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ) {
        check(umad.isOpen) { "the transport is closed" }
        val isLong = mad[FLAGS_AT].toInt() and ACTIVE != 0 && UmadAgents.hasSegments(mad[CLASS_AT].toInt() and 0xff)
        val method = mad[METHOD_AT].toInt() and 0xff
        try {
            val agent = agents.senderOf(mad)
            if (!mad.isAnswer() && method != SEND) {
                val least = if (isLong) maxOf(patience, SHORTEST_LONG) else patience
                request(agent, mad, path, least, if (isLong) SEGMENT_RETRIES else 0)
            } else if (isLong) {
                answerLong(agent, mad, path)
            } else {
                umad.send(agent, address(mad, path), mad, java.time.Duration.ZERO, 0)
            }
        } catch (e: RdmaSystemException) {
            throw MadTransportException("$endPort cannot send to $path: ${e.message}", e)
        }
    }

    private fun ByteArray.isAnswer(): Boolean {
        val method = this[METHOD_AT].toInt() and 0xff
        return method and RESPONSE != 0 || method == TRAP_REPRESS
    }

    private fun request(
        agent: Int,
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
        retries: Int,
    ) {
        val to = address(mad, path)
        synchronized(requests) {
            try {
                umad.send(agent, to, mad, patience.toJavaDuration(), retries)
                requests.sent(agent, mad, patience)
            } catch (e: RdmaSystemException) {
                val again = UmadRequests.Repetition(mad.copyOf(), path, patience)
                if (e.errno() != EINVAL || !requests.keep(agent, again)) throw e
            }
        }
    }

    /** Without retries the kernel would send lost segments never again. */
    private fun answerLong(
        agent: Int,
        mad: ByteArray,
        path: MadPath,
    ) {
        try {
            umad.send(agent, address(mad, path), mad, java.time.Duration.ZERO, SEGMENT_RETRIES)
        } catch (e: RdmaSystemException) {
            // The same answer is on its way: its request was repeated, and answered again.
            if (e.errno() != EINVAL) throw e
        }
    }

    private fun address(
        mad: ByteArray,
        path: MadPath,
    ): UmadAddress {
        val mgmtClass = mad[CLASS_AT].toInt() and 0xff
        return when (path) {
            is DirectedPath -> {
                UmadAddress.subnetManagement(PERMISSIVE)
            }

            is LidPath -> {
                val isSubnetManagement = mgmtClass == BY_LID || mgmtClass == BY_DIRECTED_ROUTE
                UmadAddress(
                    path.destination.value,
                    if (isSubnetManagement) 0 else path.destinationQueuePair,
                    if (isSubnetManagement) 0 else UmadAddress.GENERAL_SERVICES_QKEY,
                    path.serviceLevel,
                    path.source?.let(tables::pathBits) ?: 0,
                    path.globalRoute,
                    if (isSubnetManagement) 0 else tables.partition(path.partitionKey),
                )
            }
        }
    }

    private fun deliver(receiver: MadReceiver) {
        while (umad.isOpen) {
            val message =
                try {
                    umad.receive(WAIT) ?: continue
                } catch (_: IllegalStateException) {
                    return // closed
                } catch (e: RdmaSystemException) {
                    if (umad.isOpen) uncaught(e)
                    return
                }
            guarded { hand(message, receiver) }
        }
    }

    private fun uncaught(e: RuntimeException) {
        val thread = Thread.currentThread()
        thread.uncaughtExceptionHandler.uncaughtException(thread, e)
    }

    private fun hand(
        message: UmadMessage,
        receiver: MadReceiver,
    ) {
        val mad = message.data()
        if (message.status() == 0) {
            if (mad.isAnswer()) synchronized(requests) { requests.answered(message.agent(), mad) }
            return receiver.received(whole(mad), back(message.from()))
        }
        // Under one lock: between the two, another thread's repetition would make this one a second too many.
        val end =
            synchronized(requests) {
                requests.gaveUp(message.agent(), mad)?.also { end ->
                    end.again?.let { send(it.mad, it.path, it.patience) }
                }
            }
        if (end?.again != null) return
        // The caller watches the time by itself. The kernel gives no more back than the header.
        if (message.status() != ETIMEDOUT || end?.isEarly == true) receiver.undelivered(mad.copyOf(MAD_SIZE))
    }

    /** All bytes of a datagram: ibsim's library leaves out those behind the last that opensm has written. */
    private fun whole(mad: ByteArray): ByteArray {
        if (mad.size !in SEGMENT_HEADER until MAD_SIZE) return mad
        val isLong = mad[FLAGS_AT].toInt() and ACTIVE != 0
        return if (!isLong && UmadAgents.hasSegments(mad[CLASS_AT].toInt() and 0xff)) mad.copyOf(MAD_SIZE) else mad
    }

    /** The path of an answer; null for a directed route, which the datagram has within. */
    private fun back(from: UmadAddress): MadPath? {
        val route = from.globalRoute()
        val lid = Lid(from.lid())
        if (!lid.isUnicast && route == null) return null
        return LidPath(
            if (lid.isUnicast) lid else Lid(1),
            serviceLevel = from.serviceLevel(),
            partitionKey = tables.key(from.pkeyIndex()) ?: LidPath.DEFAULT_PARTITION,
            destinationQueuePair = from.queuePair(),
            globalRoute = route,
        )
    }

    override fun close(): Unit = umad.close()

    /** Names the port. */
    override fun toString(): String = "$endPort"

    /** Opens ports. */
    public companion object {
        /** How long the kernel waits for an answer if the caller does not say. */
        private val PATIENCE = 60.seconds

        /** How often the kernel sends the same segments of a long message again: every two seconds. */
        private const val SEGMENT_RETRIES = 20

        /**
         * The kernel sends segments again after two seconds. With a time of two seconds or less it takes that, but
         * loses its count after the first wait, and a lost segment never comes.
         */
        private val SHORTEST_LONG = 2001.milliseconds
        private val WAIT = java.time.Duration.ofSeconds(10)

        /**
         * Opens a port. `endPort.fabric()` does so, and asks its fabric.
         *
         * @throws org.kverbs.LibraryUnavailableException if libibumad is missing
         * @throws RdmaSystemException if this user may not, or the port is gone; the message says what to do
         */
        public fun open(endPort: EndPort): UmadTransport =
            UmadTransport(endPort, UmadPort.open(endPort.device, endPort.number))
    }
}

/**
 * Returns the path to a port on RoCE, which has no LID, by its GID: to general services.
 *
 * Through umad give an IPv6 GID, such as the link-local one: of a request from an IPv4 GID the kernel drops the answer.
 *
 * @param gid the peer's GID
 * @param sourceIndex the index of this side's GID in its table, of the same kind
 */
public fun roce(
    gid: Gid,
    sourceIndex: Int = 0,
): LidPath = LidPath(Lid(1), globalRoute = GlobalRoute(gid, 0, sourceIndex, GlobalRoute.DEFAULT_HOP_LIMIT, 0))
