package org.kverbs.acceptance.contract

import org.kverbs.AccessFlag
import org.kverbs.AddressHandle
import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.ConnectOptions
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.QueuePairCapabilities
import org.kverbs.QueuePairInitAttributes
import org.kverbs.QueuePairType
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.SharedReceiveQueue
import java.util.function.Consumer

/** All that a peer may do. */
internal val REMOTE = arrayOf(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC)

/** All that a case may want to do with memory, on every device. */
internal val FULL_ACCESS = arrayOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)

internal val CAPABILITIES = QueuePairCapabilities(64, 64, 4, 4, 64)

internal const val PORT = 1

/** The global routing header that stands before each received datagram. */
internal const val GRH_BYTES = 40L

/** The open device of a case, and what cases make from it again and again. Closing it closes all of that. */
internal class Bench(
    val device: DeviceUnderTest,
) : AutoCloseable {
    val context: Context = opened(device)
    val pd: ProtectionDomain = context.protectionDomain()

    fun cq(
        entries: Int = 128,
        channel: CompletionChannel? = null,
        extended: Boolean = false,
    ): CompletionQueue = context.completionQueue(CompletionQueueAttributes(entries, channel, 0, extended))

    fun memory(
        length: Long = 16_384,
        vararg access: AccessFlag = everyAccess(),
    ): MemoryRegion = pd.memoryRegion(length, *access)

    /** Local writing and everything that a peer can do on this device. */
    fun everyAccess(): Array<AccessFlag> {
        val more =
            listOf(
                AccessFlag.REMOTE_ATOMIC to Capability.ATOMICS,
                AccessFlag.MW_BIND to Capability.MEMORY_WINDOWS,
            )
        return FULL_ACCESS + more.filter { it.second in device.capabilities }.map { it.first }
    }

    fun queuePair(
        type: QueuePairType = QueuePairType.RC,
        cq: CompletionQueue = cq(),
        capabilities: QueuePairCapabilities = CAPABILITIES,
    ): QueuePair = pd.queuePair(QueuePairInitAttributes.of(type, cq).with(capabilities))

    /** A queue pair in RESET with a completion queue and memory. */
    fun end(
        type: QueuePairType = QueuePairType.RC,
        capabilities: QueuePairCapabilities = CAPABILITIES,
        cq: CompletionQueue = cq(),
        srq: SharedReceiveQueue? = null,
        bytes: Long = 16_384,
    ): End = End(pd.queuePair(QueuePairInitAttributes(type, cq, cq, srq, capabilities, false)), cq, memory(bytes))

    /** The same, by the extended calls. */
    fun extendedEnd(
        type: QueuePairType = QueuePairType.RC,
        capabilities: QueuePairCapabilities = CAPABILITIES,
        cq: CompletionQueue = cq(extended = true),
    ): End = End(pd.queuePair(QueuePairInitAttributes.of(type, cq).with(capabilities).asExtended()), cq, memory())

    /** Two ends that can send to each other. */
    fun linked(
        type: QueuePairType = QueuePairType.RC,
        options: ConnectOptions = ConnectOptions.DEFAULTS,
        a: End = end(type),
        b: End = end(type),
    ): Link {
        if (type == QueuePairType.UD) {
            a.qp.activate(options)
            b.qp.activate(options)
            return Link(a, b, a.qp.addressHandle(b.qp.endpoint(options), options))
        }
        a.qp.connect(b.qp.endpoint(options), options)
        b.qp.connect(a.qp.endpoint(options), options)
        return Link(a, b, null)
    }

    override fun close() = context.close()
}

/** A queue pair with its completion queue and a region to send from and to receive in. */
internal class End(
    val qp: QueuePair,
    val cq: CompletionQueue,
    val mr: MemoryRegion,
) {
    /** Posts in one call what the block adds to the list. */
    fun post(requests: SendRequests.() -> Unit) = qp.postWith(Consumer { it.requests() })
}

/** Two ends; messages of datagram queue pairs go from [a] to [b] by [address]. */
internal class Link(
    val a: End,
    val b: End,
    private val address: AddressHandle?,
) {
    /** Where the bytes of a message to [b] begin in its receive buffer. */
    val offset: Long = if (address == null) 0 else GRH_BYTES

    operator fun component1(): End = a

    operator fun component2(): End = b

    /** Posts one message from [a] to [b], addressed if the transport wants that. */
    fun message(request: SendRequests.() -> Unit) =
        a.post {
            request()
            address?.let { to(it, b.qp.number(), ConnectOptions.DEFAULT_QKEY) }
        }
}

/**
 * Opens it; ::1 is the only address of its kind, which another run on this machine may have for the moment of a case.
 */
private fun opened(device: DeviceUnderTest): Context {
    var opened: Context? = null
    await("the address of ${device.name}") {
        opened =
            try {
                Device.byName(device.name).open()
            } catch (e: RdmaSystemException) {
                if (!device.isIpv6 || e.errnoName() != "EADDRINUSE") throw e
                null
            }
        opened != null
    }
    return checkNotNull(opened)
}
