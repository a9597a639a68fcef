package org.kverbs.cli

import org.kverbs.attributes.LinkLayer
import org.kverbs.attributes.TransportType

/** The name of a transport, as ibv_devinfo(1) writes it. */
internal fun TransportType.text(): String =
    when (this) {
        TransportType.IB -> "InfiniBand"
        TransportType.IWARP -> "iWARP"
        TransportType.USNIC -> "usNIC"
        TransportType.USNIC_UDP -> "usNIC UDP"
        TransportType.UNSPECIFIED -> "unspecified"
        TransportType.UNKNOWN -> "invalid transport"
    }

/** The name of a link layer, as ibv_devinfo(1) writes it. */
internal fun LinkLayer.text(): String =
    when (this) {
        LinkLayer.UNSPECIFIED -> "Unspecified"
        LinkLayer.INFINIBAND -> "InfiniBand"
        LinkLayer.ETHERNET -> "Ethernet"
        LinkLayer.UNKNOWN -> "Unknown"
    }

/** A GUID, given in host order, as ibv_devinfo(1) writes it: `b4ef:93ff:fe74:597e`. */
internal fun guidText(guid: Long): String = guid.toHexString().chunked(4).joinToString(":")
