package org.kverbs.acceptance.contract

import org.kverbs.AddressHandle
import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.SharedReceiveQueue
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import java.util.function.Consumer

/** The access of a peer to everything. */
internal val REMOTE = arrayOf(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC)

/** The access that a case may need, on every device. */
internal val FULL_ACCESS = arrayOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)

internal val CAPABILITIES = QueuePairCapabilities(64, 64, 4, 4, 64)

internal const val PORT = 1

/** The length of the global routing header before each received datagram. */
internal const val GRH_BYTES = 40L

/** Holds the open device of a case, and makes the objects that cases need. Closing it closes all of them. */
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

    /** Returns local writing and all access of a peer that this device supports. */
    fun everyAccess(): Array<AccessFlag> {
        val more =
            listOf(
                AccessFlag.REMOTE_ATOMIC to Capability.ATOMICS,
                AccessFlag.MW_BIND to Capability.MEMORY_WINDOWS,
                AccessFlag.FLUSH_GLOBAL to Capability.FLUSH,
            )
        return FULL_ACCESS + more.filter { it.second in device.capabilities }.map { it.first }
    }

    fun queuePair(
        type: QueuePairType = QueuePairType.RC,
        cq: CompletionQueue = cq(),
        capabilities: QueuePairCapabilities = CAPABILITIES,
    ): QueuePair = pd.queuePair(QueuePairInitAttributes.of(type, cq).with(capabilities))

    /** Makes a queue pair in RESET with a completion queue and memory. */
    fun end(
        type: QueuePairType = QueuePairType.RC,
        capabilities: QueuePairCapabilities = CAPABILITIES,
        cq: CompletionQueue = cq(),
        srq: SharedReceiveQueue? = null,
        bytes: Long = 16_384,
    ): End = End(pd.queuePair(QueuePairInitAttributes(type, cq, cq, srq, capabilities, false)), cq, memory(bytes))

    /** Does the same by the extended calls. */
    fun extendedEnd(
        type: QueuePairType = QueuePairType.RC,
        capabilities: QueuePairCapabilities = CAPABILITIES,
        cq: CompletionQueue = cq(extended = true),
    ): End = End(pd.queuePair(QueuePairInitAttributes.of(type, cq).with(capabilities).asExtended()), cq, memory())

    /** Makes two ends that can send to each other. */
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
    /** Posts the requests of the block in one call. */
    fun post(requests: SendRequests.() -> Unit) = qp.postWith(Consumer { it.requests() })
}

/** Two ends; messages of datagram queue pairs go from [a] to [b] by [address]. */
internal class Link(
    val a: End,
    val b: End,
    private val address: AddressHandle?,
) {
    /** The offset of a message's bytes in the receive buffer of [b]. */
    val offset: Long = if (address == null) 0 else GRH_BYTES

    operator fun component1(): End = a

    operator fun component2(): End = b

    /** Posts one message from [a] to [b], with the address if the transport needs one. */
    fun message(request: SendRequests.() -> Unit) =
        a.post {
            request()
            address?.let { to(it, b.qp.number(), ConnectOptions.DEFAULT_QKEY) }
        }
}

/**
 * Opens the device. ::1 is the only address of its kind, which another run on this machine may have for the moment of a
 * case.
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

/** Posts signaled writes with ids from 1 on; the i-th puts the number i at 8 * i in the peer's memory. */
internal fun writes(
    from: End,
    to: End,
    count: Int,
) = from.post {
    for (i in 1L..count) {
        from.mr.putLong(i, 8 * i)
        write(i, to.mr.remote().at(8 * i)).from(from.mr.slice(8 * i, 8)).signaled()
    }
}

/**
 * Posts [writes], and returns 200 ms after the last is in the peer's memory. The completions come a moment after the
 * data; only a poll shows them, and takes them.
 */
internal fun completedWrites(
    from: End,
    to: End,
    count: Int,
) {
    writes(from, to, count)
    await("the last write") { to.mr.long(8L * count) == count.toLong() }
    Thread.sleep(200)
}
