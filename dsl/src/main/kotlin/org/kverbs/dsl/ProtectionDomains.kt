package org.kverbs.dsl

import org.kverbs.AddressHandle
import org.kverbs.DeviceMemory
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.SharedReceiveQueue
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.AddressAttributesBuilder
import java.lang.foreign.MemorySegment
import java.nio.ByteBuffer

/**
 * Allocates and registers memory: `pd.memoryRegion(64.KiB) { access(LOCAL_WRITE, REMOTE_WRITE) }` (ibv_reg_mr).
 *
 * @param length the number of bytes
 * @throws org.kverbs.RdmaSystemException if the device refuses; for ENOMEM the message names the memlock limit
 */
public fun ProtectionDomain.memoryRegion(
    length: Long,
    block: MemoryRegionBuilder.() -> Unit,
): MemoryRegion = memoryRegion(length, *MemoryRegionBuilder().apply(block).build())

/** Allocates and registers memory, with the number of bytes as `Int`: `pd.memoryRegion(count * size) { }`. */
public fun ProtectionDomain.memoryRegion(
    length: Int,
    block: MemoryRegionBuilder.() -> Unit,
): MemoryRegion = memoryRegion(length.toLong(), block)

/** Registers off-heap memory of the caller; see [ProtectionDomain.register] for its ownership. */
public fun ProtectionDomain.register(
    memory: MemorySegment,
    block: MemoryRegionBuilder.() -> Unit,
): MemoryRegion = register(memory, *MemoryRegionBuilder().apply(block).build())

/** Registers the bytes of a direct buffer between its position and its limit. */
public fun ProtectionDomain.register(
    buffer: ByteBuffer,
    block: MemoryRegionBuilder.() -> Unit,
): MemoryRegion = register(buffer, *MemoryRegionBuilder().apply(block).build())

/** Registers all of a device memory: `pd.register(memory) { access(LOCAL_WRITE, REMOTE_ATOMIC) }` (ibv_reg_dm_mr). */
public fun ProtectionDomain.register(
    memory: DeviceMemory,
    block: MemoryRegionBuilder.() -> Unit,
): MemoryRegion = register(memory, *MemoryRegionBuilder().apply(block).build())

/** Registers the whole address space of this process; see [ProtectionDomain.implicitRegion] for what that means. */
public fun ProtectionDomain.implicitRegion(block: MemoryRegionBuilder.() -> Unit): MemoryRegion =
    implicitRegion(*MemoryRegionBuilder().apply(block).build())

/** Registers a part of a dma-buf; see [ProtectionDomain.registerDmabuf] for the parameters. */
public fun ProtectionDomain.registerDmabuf(
    fd: Int,
    offset: Long,
    length: Long,
    iova: Long,
    block: MemoryRegionBuilder.() -> Unit,
): MemoryRegion = registerDmabuf(fd, offset, length, iova, *MemoryRegionBuilder().apply(block).build())

/**
 * Makes a queue pair: `pd.qp { type(RC); sendCq(cq) }` (ibv_create_qp). Receives complete on the same queue unless
 * `recvCq` sets another.
 *
 * @throws IllegalArgumentException if a required part is missing or two parts exclude each other; the message names
 *   them
 * @throws org.kverbs.RdmaSystemException if the device refuses
 */
public fun ProtectionDomain.qp(block: QueuePairBuilder.() -> Unit): QueuePair =
    queuePair(QueuePairBuilder().apply(block).build())

/**
 * Makes a queue pair that has only the operations of its transport: `pd.qp(RC) { cq(cq) }`.
 *
 * @throws IllegalArgumentException if a required part is missing or two parts exclude each other; the message names
 *   them
 * @throws org.kverbs.RdmaSystemException if the device refuses
 */
public fun <V : Verbs> ProtectionDomain.qp(
    transport: Transport<V>,
    block: QueuePairSettings.() -> Unit,
): TypedQueuePair<V> = TypedQueuePair(queuePair(QueuePairSettings().apply(block).build(transport.type)))

/** Makes a shared receive queue: `pd.srq { maxWr(1024) }` (ibv_create_srq, ibv_create_srq_ex). */
public fun ProtectionDomain.srq(block: SharedReceiveQueueBuilder.() -> Unit): SharedReceiveQueue {
    val settings = SharedReceiveQueueBuilder().apply(block)
    val attributes = settings.build()
    val xrc = settings.xrc
    val tagged = settings.tagged
    val srq =
        when {
            xrc != null -> {
                sharedReceiveQueue(attributes, xrc.domain, xrc.choose(attributes.maxWr()))
            }

            tagged != null -> {
                val cq = tagged.choose(attributes.maxWr() + tagged.maxTags + tagged.maxOperations)
                sharedReceiveQueue(attributes, tagged.maxTags, tagged.maxOperations, cq)
            }

            else -> {
                sharedReceiveQueue(attributes)
            }
        }
    return srq.closingOnFailure {
        if (attributes.limit() > 0) it.limit(attributes.limit())
        it
    }
}

/** Makes an address handle: `pd.addressHandle { port(1); globalRoute(gid, 1) }` (ibv_create_ah). */
public fun ProtectionDomain.addressHandle(block: (@RdmaDsl AddressAttributesBuilder).() -> Unit): AddressHandle =
    addressHandle(AddressAttributes.builder().apply(block).build())
