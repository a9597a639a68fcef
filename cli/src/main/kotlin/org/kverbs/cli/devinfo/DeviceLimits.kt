package org.kverbs.cli.devinfo

import kotlinx.serialization.Serializable
import org.kverbs.attributes.DeviceAttributes

/** The limits of a device, in the JSON of `kverbs devinfo`. */
@Serializable
internal class DeviceLimits(
    val maxMemoryRegionBytes: Long,
    val maxMemoryRegions: Int,
    val maxMemoryWindows: Int,
    val maxProtectionDomains: Int,
    val maxQueuePairs: Int,
    val maxQueuePairRequests: Int,
    val maxScatterGatherEntries: Int,
    val maxCompletionQueues: Int,
    val maxCompletionQueueEntries: Int,
    val maxSharedReceiveQueues: Int,
    val maxSharedReceiveQueueRequests: Int,
    val maxReadsAndAtomicsAsTarget: Int,
    val maxReadsAndAtomicsAsInitiator: Int,
    val maxAddressHandles: Int,
    val maxMulticastGroups: Int,
    val maxPartitionKeys: Int,
    val atomics: String,
) {
    companion object {
        fun of(attributes: DeviceAttributes) =
            DeviceLimits(
                maxMemoryRegionBytes = attributes.maxMrSize(),
                maxMemoryRegions = attributes.maxMr(),
                maxMemoryWindows = attributes.maxMw(),
                maxProtectionDomains = attributes.maxPd(),
                maxQueuePairs = attributes.maxQp(),
                maxQueuePairRequests = attributes.maxQpWr(),
                maxScatterGatherEntries = attributes.maxSge(),
                maxCompletionQueues = attributes.maxCq(),
                maxCompletionQueueEntries = attributes.maxCqe(),
                maxSharedReceiveQueues = attributes.maxSrq(),
                maxSharedReceiveQueueRequests = attributes.maxSrqWr(),
                maxReadsAndAtomicsAsTarget = attributes.maxQpRdAtom(),
                maxReadsAndAtomicsAsInitiator = attributes.maxQpInitRdAtom(),
                maxAddressHandles = attributes.maxAh(),
                maxMulticastGroups = attributes.maxMcastGrp(),
                maxPartitionKeys = attributes.maxPkeys(),
                atomics = attributes.atomicCapability().name,
            )
    }
}
