package org.kverbs.cli.devinfo

import org.kverbs.Device
import org.kverbs.attributes.AtomicCapability
import org.kverbs.attributes.DeviceAttributes
import org.kverbs.attributes.DeviceAttributesEx
import org.kverbs.attributes.DeviceCapability
import org.kverbs.cli.text
import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path

/** Adds who made the device, its names and its ports: what ibv_devinfo(1) shows first. */
internal fun InfoText.identity(
    device: Device,
    extended: DeviceAttributesEx,
) {
    val attributes = extended.original()
    field("hca_id", device.name(), indent = 0, column = 0)
    field("transport", "${device.transportType().text()} (${device.rawTransportType()})")
    if (attributes.firmwareVersion().isNotEmpty()) field("fw_ver", attributes.firmwareVersion())
    field("node_guid", attributes.nodeGuidText())
    field("sys_image_guid", attributes.systemImageGuidText())
    field("vendor_id", hex(attributes.vendorId(), digits = 4))
    field("vendor_part_id", attributes.vendorPartId().toUInt())
    field("hw_ver", upperHex(attributes.hwVersion().toUInt().toLong()))
    boardId(device)?.let { field("board_id", it) }
    field("phys_port_cnt", extended.portCount)
}

/** The number of ports. Devices with more than 255 give it in the extended attributes only. */
internal val DeviceAttributesEx.portCount: Int get() = physPortCntEx().takeIf { it != 0 } ?: original().physPortCnt()

/** Returns the board's identity from the kernel; null if the driver gives none. */
internal fun boardId(device: Device): String? {
    if (device.provider() != "native") return null
    return try {
        Files.readString(Path.of("/sys/class/infiniband", device.name(), "board_id")).trim().ifEmpty { null }
    } catch (_: IOException) {
        null
    }
}

/** Adds the limits of `struct ibv_device_attr`. */
internal fun InfoText.limits(attributes: DeviceAttributes) {
    field("max_mr_size", hex(attributes.maxMrSize()))
    field("page_size_cap", hex(attributes.pageSizeCap()))
    field("max_qp", attributes.maxQp())
    field("max_qp_wr", attributes.maxQpWr())
    field("device_cap_flags", hex(attributes.deviceCapFlags(), digits = 8))
    names(attributes.deviceCapFlags().toUInt().toLong(), lowCapabilities)
    field("max_sge", attributes.maxSge())
    field("max_sge_rd", attributes.maxSgeRd())
    field("max_cq", attributes.maxCq())
    field("max_cqe", attributes.maxCqe())
    field("max_mr", attributes.maxMr())
    field("max_pd", attributes.maxPd())
    field("max_qp_rd_atom", attributes.maxQpRdAtom())
    field("max_ee_rd_atom", attributes.maxEeRdAtom())
    field("max_res_rd_atom", attributes.maxResRdAtom())
    field("max_qp_init_rd_atom", attributes.maxQpInitRdAtom())
    field("max_ee_init_rd_atom", attributes.maxEeInitRdAtom())
    field("atomic_cap", "${attributes.atomicCapability().text()} (${attributes.atomicCap()})")
    field("max_ee", attributes.maxEe())
    field("max_rdd", attributes.maxRdd())
    field("max_mw", attributes.maxMw())
    field("max_raw_ipv6_qp", attributes.maxRawIpv6Qp())
    field("max_raw_ethy_qp", attributes.maxRawEthyQp())
    field("max_mcast_grp", attributes.maxMcastGrp())
    field("max_mcast_qp_attach", attributes.maxMcastQpAttach())
    field("max_total_mcast_qp_attach", attributes.maxTotalMcastQpAttach())
    field("max_ah", attributes.maxAh())
    field("max_fmr", attributes.maxFmr())
    if (attributes.maxFmr() != 0) field("max_map_per_fmr", attributes.maxMapPerFmr())
    field("max_srq", attributes.maxSrq())
    if (attributes.maxSrq() != 0) {
        field("max_srq_wr", attributes.maxSrqWr())
        field("max_srq_sge", attributes.maxSrqSge())
    }
    field("max_pkeys", attributes.maxPkeys())
    field("local_ca_ack_delay", attributes.localCaAckDelay())
}

/** The capabilities of the 32-bit `device_cap_flags`; those above have a field of their own. */
private val lowCapabilities: List<Pair<Long, String>> =
    DeviceCapability.entries.filter { it.bit() ushr Int.SIZE_BITS == 0L }.map { it.bit() to it.name }

private fun AtomicCapability.text(): String =
    when (this) {
        AtomicCapability.NONE -> "ATOMIC_NONE"
        AtomicCapability.HCA -> "ATOMIC_HCA"
        AtomicCapability.GLOB -> "ATOMIC_GLOB"
        AtomicCapability.UNKNOWN -> "invalid atomic capability"
    }
