package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueueAttributes
import org.kverbs.FlowAttributes
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkQueueAttributes
import org.kverbs.acceptance.contract.Capability.ADDRESS_EVENTS
import org.kverbs.acceptance.contract.Capability.EXTENDED_QUEUES
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.AesGcmKey
import org.kverbs.attributes.AtomicCapability
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.EspAttributes
import org.kverbs.attributes.Feature
import org.kverbs.attributes.MemoryAdvice
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.RateLimit
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.cm.PortSpace
import java.time.Duration

/** Checks that each device has the capabilities that are declared for it, and refuses the others: see [Capability]. */
internal class CapabilitiesSpec :
    ContractSpec({
        for (capability in Capability.entries) {
            val call = callFor(capability) ?: continue
            if (capability in device.capabilities) {
                case("should offer $capability as declared") { call() }
            } else {
                case("should refuse $capability, which is not declared, and name the failed call") {
                    val refusal = shouldThrow<RdmaSystemException> { call() }
                    withClue(refusal.message) {
                        refusal.message shouldContain "${refusal.operation()}("
                        refusal.message shouldContain refusal.errnoName()
                        refusal.advice() shouldNotBe ""
                    }
                }
            }
        }

        if (RAW_CONNECT !in device.capabilities) {
            case("should tell that only the connection manager connects queue pairs, if that is so") {
                shouldThrow<RdmaSystemException> { linked() }.advice() shouldContain
                    "connected by the connection manager only"
            }
        }

        if (EXTENDED_QUEUES !in device.capabilities) {
            case("should refuse extended queue pairs as it refuses extended completion queues") {
                shouldThrow<RdmaSystemException> {
                    pd.queuePair(
                        QueuePairInitAttributes.of(QueuePairType.RC, cq()).asExtended(),
                    )
                }.operation() shouldBe "ibv_create_qp_ex"
            }
        }

        for (capability in Capability.entries) {
            val feature = capability.feature ?: continue
            case("should tell by itself whether it supports $feature") {
                context.supports(feature) shouldBe (capability in device.capabilities)
            }
            if (capability !in device.capabilities) {
                case("should name the device and the verb of $feature, which it does not have") {
                    val call = checkNotNull(callFor(capability))
                    val missing = shouldThrow<UnsupportedVerbException> { call() }
                    missing.device() shouldBe device.name
                    // The list of tags belongs to a queue, which must be made before.
                    missing.operation() shouldBe
                        if (feature == Feature.TAG_MATCHING) "ibv_create_srq_ex" else feature.verb()
                }
            }
        }

        case("should have a GID table that follows a network device exactly if that is declared") {
            // The lab checks the events themselves, since addresses can be changed there.
            (ADDRESS_EVENTS in device.capabilities) shouldBe context.queryGidTable().any { it.netdevIndex() != 0 }
        }

        case("should report atomics exactly if they are declared") {
            val atomics = AtomicCapability.of(context.queryDevice().atomicCap())
            (atomics != AtomicCapability.NONE) shouldBe (Capability.ATOMICS in device.capabilities)
        }
    })

/**
 * Returns a call that succeeds only on a device with the capability; null for a capability without such a call. The
 * cases that name such a capability check both ways: what a device does with it and without it.
 */
private fun callFor(capability: Capability): (Bench.() -> Unit)? =
    when (capability) {
        Capability.RAW_CONNECT -> {
            { linked() }
        }

        Capability.UNRELIABLE_CONNECTION -> {
            { queuePair(QueuePairType.UC) }
        }

        Capability.DATAGRAM -> {
            { queuePair(QueuePairType.UD) }
        }

        Capability.ADDRESS_HANDLES -> {
            {
                val index = context.defaultGidIndex(PORT)
                pd.addressHandle(AddressAttributes.toGid(context.queryGid(PORT, index), index, PORT))
            }
        }

        Capability.MULTICAST -> {
            {
                val type = if (Capability.DATAGRAM in device.capabilities) QueuePairType.UD else QueuePairType.RC
                queuePair(type).apply {
                    attachMulticast(device.group, 0)
                    detachMulticast(device.group, 0)
                }
            }
        }

        Capability.MEMORY_WINDOWS -> {
            { listOf(MemoryWindowType.TYPE_1, MemoryWindowType.TYPE_2).forEach { pd.memoryWindow(it) } }
        }

        Capability.RESIZE_CQ -> {
            { cq().resize(256) }
        }

        Capability.ATOMIC_WRITE -> {
            { made(Feature.ATOMIC_WRITE) }
        }

        Capability.FLUSH -> {
            {
                made(Feature.FLUSH)
                memory(4096, AccessFlag.FLUSH_GLOBAL)
            }
        }

        Capability.MODERATION -> {
            { cq().moderate(16, Duration.ofMillis(1)) }
        }

        Capability.TIMESTAMPS -> {
            { context.completionQueue(CompletionQueueAttributes.of(16).with(CompletionField.TIMESTAMP)) }
        }

        Capability.CLOCK -> {
            { context.queryClock() }
        }

        Capability.PORT_SPEED -> {
            { context.queryPortSpeed(PORT) }
        }

        Capability.RATE_LIMIT -> {
            {
                // Soft-iWARP refuses before it looks at the state, which only the connection manager brings to RTS
                val qp = if (Capability.RAW_CONNECT in device.capabilities) linked().a.qp else queuePair()
                qp.limitRate(RateLimit.ofKbps(1_000_000))
            }
        }

        Capability.PATH_MIGRATION -> {
            {
                val qp = if (Capability.RAW_CONNECT in device.capabilities) linked().a.qp else queuePair()
                val peer = QueuePairEndpoint(0, context.queryGid(PORT, 0), qp.number(), 0, 0, 0)
                qp.armAlternatePath(peer, ConnectOptions.builder().gidIndex(0).build())
            }
        }

        Capability.THREAD_DOMAINS -> {
            { context.threadDomain() }
        }

        Capability.PARENT_DOMAINS -> {
            { pd.parentDomain() }
        }

        Capability.NULL_REGION -> {
            { pd.nullRegion() }
        }

        Capability.DEVICE_MEMORY -> {
            { pd.register(context.deviceMemory(4096), AccessFlag.LOCAL_WRITE) }
        }

        Capability.ON_DEMAND_PAGING -> {
            { pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND) }
        }

        Capability.MEMORY_ADVICE -> {
            {
                val isPaged = Capability.ON_DEMAND_PAGING in device.capabilities
                val access = listOf(AccessFlag.LOCAL_WRITE, AccessFlag.ON_DEMAND).take(if (isPaged) 2 else 1)
                pd.advise(MemoryAdvice.PREFETCH, pd.memoryRegion(4096, *access.toTypedArray()).slice())
            }
        }

        Capability.DMABUF -> {
            { pd.registerDmabuf(0, 0, 4096, 0, AccessFlag.LOCAL_WRITE) }
        }

        Capability.IMPORT -> {
            { context.device().importContext(context.duplicateDescriptor()).use { it.queryDevice() } }
        }

        Capability.TAG_MATCHING -> {
            { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1), 4, 4, cq()) }
        }

        Capability.COMPLETION_COUNTERS -> {
            { context.completionCounter() }
        }

        Capability.XRC -> {
            { context.xrcDomain() }
        }

        Capability.PROGRAM_EVENTS -> {
            { channel().use { it.id(PortSpace.TCP).writeEvent(0, 1) } }
        }

        Capability.SEGMENTATION -> {
            { pd.queuePair(QueuePairInitAttributes.of(QueuePairType.UD, cq()).withMaxTsoHeader(64)) }
        }

        Capability.RAW_PACKET -> {
            { queuePair(QueuePairType.RAW_PACKET) }
        }

        Capability.FLOW_STEERING -> {
            {
                val type =
                    when {
                        Capability.RAW_PACKET in device.capabilities -> QueuePairType.RAW_PACKET
                        Capability.DATAGRAM in device.capabilities -> QueuePairType.UD
                        else -> QueuePairType.RC
                    }
                queuePair(type).flow(FlowAttributes.builder().build())
            }
        }

        Capability.ESP_FLOW_ACTION -> {
            {
                val key = AesGcmKey.of(ByteArray(16), ByteArray(4))
                context.espFlowAction(EspAttributes.decrypting(key).inTransportMode().fullOffload(1, 0))
            }
        }

        Capability.FLOW_COUNTERS -> {
            { context.flowCounters() }
        }

        Capability.WORK_QUEUES -> {
            { pd.workQueue(WorkQueueAttributes.of(cq())) }
        }

        Capability.RESIZE_SRQ -> {
            { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1)).resize(32) }
        }

        Capability.QUERY_SRQ -> {
            { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1)).query() }
        }

        Capability.REREGISTER -> {
            { memory().reregister(AccessFlag.LOCAL_WRITE) }
        }

        Capability.EXTENDED_QUEUES -> {
            {
                context.completionQueue(CompletionQueueAttributes.of(16).asExtended())
                pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq()).asExtended())
            }
        }

        Capability.CHECKS_STATE,
        Capability.ATOMICS,
        Capability.REPORTS_INVALIDATED_KEY,
        Capability.CHECKS_WINDOW_BOUNDS,
        Capability.PRECISE_LOCAL_ERRORS,
        Capability.TELLS_LOCAL_ERRORS,
        Capability.FLUSHES_THROUGH_WINDOWS,
        Capability.FLUSHES_LATE_RECEIVES,
        Capability.EXTENDED_GATHERING,
        Capability.EXTENDED_UC_WINDOWS,
        Capability.ADDRESS_EVENTS,
        Capability.MULTICAST_ROUTE,
        -> {
            null
        }
    }

/** Makes a queue pair with an operation that only extended queue pairs have. */
private fun Bench.made(feature: Feature) =
    pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq()).asExtended(feature))
