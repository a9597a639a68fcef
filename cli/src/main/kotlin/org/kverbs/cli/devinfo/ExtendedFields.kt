package org.kverbs.cli.devinfo

import org.kverbs.attributes.DeviceAttributesEx
import org.kverbs.attributes.DeviceCapability
import org.kverbs.attributes.QueuePairType

/** Adds what `struct ibv_device_attr_ex` has beyond the plain attributes. */
internal fun InfoText.extensions(attributes: DeviceAttributesEx) {
    onDemandPaging(attributes.onDemandPaging())
    timestamps(attributes)
    if (attributes.rawPacketCaps() != 0) {
        section("raw packet caps")
        names(attributes.rawPacketCaps().toUInt().toLong(), rawPacketNames)
    }
    field("device_cap_flags_ex", upperHex(attributes.deviceCapFlagsEx()))
    names(attributes.deviceCapFlagsEx() ushr Int.SIZE_BITS shl Int.SIZE_BITS, highCapabilities)
    offloads(attributes)
    field("max_wq_type_rq", attributes.maxWqTypeRq().toUInt())
    packetPacing(attributes.packetPacing())
    tagMatching(attributes.tagMatching())
    val moderation = attributes.cqModeration()
    if (moderation.maxCount() != 0) {
        section("cq moderation caps")
        field("max_cq_count", moderation.maxCount(), indent = 2)
        field("max_cq_period", "${moderation.maxPeriod()} us", indent = 2)
    }
    if (attributes.maxDmSize() != 0L) {
        field("maximum available device memory", "${attributes.maxDmSize().toULong()}Bytes")
    }
}

private fun InfoText.onDemandPaging(paging: DeviceAttributesEx.OnDemandPaging) {
    section("general_odp_caps")
    names(paging.general(), generalPagingNames)
    val transports = listOf("rc" to paging.rc(), "uc" to paging.uc(), "ud" to paging.ud(), "xrc" to paging.xrc())
    for ((transport, operations) in transports) {
        section("${transport}_odp_caps")
        if (operations == 0) line("NO SUPPORT", indent = 5)
        names(operations.toUInt().toLong(), pagingNames)
    }
}

private fun InfoText.timestamps(attributes: DeviceAttributesEx) {
    if (attributes.completionTimestampMask() != 0L) {
        // So it is spelled: with a space, and unlike the line below.
        field("completion timestamp_mask", hex(attributes.completionTimestampMask(), digits = 16), column = 56)
    } else {
        line("completion_timestamp_mask not supported")
    }
    if (attributes.hcaCoreClock() != 0L) {
        field("hca_core_clock", "${attributes.hcaCoreClock().toULong()}kHZ")
    } else {
        line("core clock not supported")
    }
}

private fun InfoText.offloads(attributes: DeviceAttributesEx) {
    val segmentation = attributes.segmentation()
    section("tso_caps")
    field("max_tso", segmentation.maxTso().toUInt(), indent = 2, column = 48)
    if (segmentation.maxTso() != 0) queuePairTypes(segmentation.queuePairTypes())
    val scaling = attributes.receiveSideScaling()
    section("rss_caps")
    field("max_rwq_indirection_tables", scaling.maxTables().toUInt(), indent = 2, column = 64)
    field("max_rwq_indirection_table_size", scaling.maxTableSize().toUInt(), indent = 2, column = 64)
    field("rx_hash_function", hex(scaling.hashFunctions()), indent = 2, column = 64)
    field("rx_hash_fields_mask", upperHex(scaling.hashFields()), indent = 2, column = 64)
    if (scaling.queuePairTypes() != 0) queuePairTypes(scaling.queuePairTypes())
}

private fun InfoText.packetPacing(pacing: DeviceAttributesEx.PacketPacing) {
    section("packet_pacing_caps")
    field("qp_rate_limit_min", "${pacing.minKbps().toUInt()}kbps", indent = 2)
    field("qp_rate_limit_max", "${pacing.maxKbps().toUInt()}kbps", indent = 2)
    if (pacing.maxKbps() != 0) queuePairTypes(pacing.queuePairTypes())
}

private fun InfoText.tagMatching(matching: DeviceAttributesEx.TagMatching) {
    if (matching.maxTags() == 0) {
        line("tag matching not supported")
        return
    }
    field("max_rndv_hdr_size", matching.maxRendezvousHeader().toUInt())
    field("max_num_tags", matching.maxTags().toUInt())
    field("max_ops", matching.maxOps().toUInt())
    field("max_sge", matching.maxSge().toUInt())
    section("flags")
    names(matching.flags().toUInt().toLong(), listOf(1L to "IBV_TM_CAP_RC"))
}

private fun InfoText.queuePairTypes(mask: Int) {
    section("supported_qp", indent = 2)
    names(mask.toUInt().toLong(), queuePairTypeNames)
}

private val queuePairTypeNames =
    listOf(QueuePairType.RAW_PACKET to "SUPPORT_RAW_PACKET", QueuePairType.UD to "SUPPORT_UD").map { (type, name) ->
        (1L shl type.code()) to name
    }

private val highCapabilities =
    listOf(DeviceCapability.RAW_SCATTER_FCS, DeviceCapability.PCI_WRITE_END_PADDING).map { it.bit() to it.name }

/** `enum ibv_odp_general_caps`. */
private val generalPagingNames = bits("ODP_SUPPORT", "ODP_SUPPORT_IMPLICIT")

/** `enum ibv_odp_transport_cap_bits`. */
private val pagingNames =
    bits("SUPPORT_SEND", "SUPPORT_RECV", "SUPPORT_WRITE", "SUPPORT_READ", "SUPPORT_ATOMIC", "SUPPORT_SRQ")

/** `enum ibv_raw_packet_caps`. */
private val rawPacketNames = bits("C-VLAN stripping offload", "Scatter FCS offload", "IP csum offload", "Delay drop")

/** Names of bit 0, bit 1 and so on. */
private fun bits(vararg names: String): List<Pair<Long, String>> =
    names.mapIndexed { bit, name -> (1L shl bit) to name }
