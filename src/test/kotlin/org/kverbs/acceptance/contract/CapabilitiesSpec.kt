package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.AccessFlag
import org.kverbs.AddressAttributes
import org.kverbs.AtomicCapability
import org.kverbs.Gid
import org.kverbs.MemoryWindowType
import org.kverbs.QueuePairType
import org.kverbs.RdmaSystemException
import org.kverbs.SharedReceiveQueueAttributes

/** Checks that each device offers what is declared for it and refuses the rest: see [Capability]. */
internal class CapabilitiesSpec :
    ContractSpec({
        for ((capability, call) in calls) {
            if (capability in device.capabilities) {
                case("should offer $capability as declared") { call() }
            } else {
                case("should refuse $capability, which is not declared, and say what failed") {
                    val refusal = shouldThrow<RdmaSystemException> { call() }
                    withClue(refusal.message) {
                        refusal.message shouldContain "${refusal.operation()}("
                        refusal.message shouldContain refusal.errnoName()
                        refusal.advice() shouldNotBe ""
                    }
                }
            }
        }

        case("should report atomics exactly if they are declared") {
            val atomics = AtomicCapability.of(context.queryDevice().atomicCap())
            (atomics != AtomicCapability.NONE) shouldBe (Capability.ATOMICS in device.capabilities)
        }
    })

/** A call that only a device with the capability answers. What has none here is checked by the cases that name it, both ways. */
private val calls: Map<Capability, Bench.() -> Unit> =
    mapOf(
        Capability.RAW_CONNECT to { linked() },
        Capability.UNRELIABLE_CONNECTION to { queuePair(QueuePairType.UC) },
        Capability.DATAGRAM to { queuePair(QueuePairType.UD) },
        Capability.ADDRESS_HANDLES to {
            val index = context.defaultGidIndex(PORT)
            pd.addressHandle(AddressAttributes.toGid(context.queryGid(PORT, index), index, PORT))
        },
        Capability.MULTICAST to {
            val type = if (Capability.DATAGRAM in device.capabilities) QueuePairType.UD else QueuePairType.RC
            val group = Gid.parse("224.0.0.1")
            queuePair(type).apply {
                attachMulticast(group, 0)
                detachMulticast(group, 0)
            }
        },
        Capability.MEMORY_WINDOWS to { listOf(MemoryWindowType.TYPE_1, MemoryWindowType.TYPE_2).forEach { pd.memoryWindow(it) } },
        Capability.RESIZE_CQ to { cq().resize(256) },
        Capability.RESIZE_SRQ to { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1)).resize(32) },
        Capability.QUERY_SRQ to { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1)).query() },
        Capability.REREGISTER to { memory().reregister(AccessFlag.LOCAL_WRITE) },
    )
