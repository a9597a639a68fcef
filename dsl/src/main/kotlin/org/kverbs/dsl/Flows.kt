package org.kverbs.dsl

import org.kverbs.Flow
import org.kverbs.FlowAttributes
import org.kverbs.FlowAttributesBuilder
import org.kverbs.QueuePair
import org.kverbs.attributes.EspMatch
import org.kverbs.attributes.EthernetMatch
import org.kverbs.attributes.Ipv4Match
import org.kverbs.attributes.Ipv6Match
import org.kverbs.attributes.MacAddress
import org.kverbs.attributes.PortMatch
import org.kverbs.attributes.VxlanMatch

/**
 * Adds a flow rule: `qp.flow { priority(1); ipv4 { destination("192.0.2.0/24") }; udp { destinationPort(4791) } }`
 * (ibv_create_flow). Errors as [QueuePair.flow].
 */
public fun QueuePair.flow(block: (@RdmaDsl FlowAttributesBuilder).() -> Unit): Flow =
    flow(FlowAttributes.builder().apply(block).build())

/** Asks for an Ethernet header: `ethernet { destination("02:00:5e:10:00:01"); etherType(0x0800) }`. */
public fun FlowAttributesBuilder.ethernet(block: (@RdmaDsl EthernetMatch).() -> Unit = {}): FlowAttributesBuilder =
    match(EthernetMatch().apply(block))

/** Asks for an IPv4 header: `ipv4 { source("192.0.2.1") }`. */
public fun FlowAttributesBuilder.ipv4(block: (@RdmaDsl Ipv4Match).() -> Unit = {}): FlowAttributesBuilder =
    match(Ipv4Match().apply(block))

/** Asks for an IPv6 header: `ipv6 { source("2001:db8::/32") }`. */
public fun FlowAttributesBuilder.ipv6(block: (@RdmaDsl Ipv6Match).() -> Unit = {}): FlowAttributesBuilder =
    match(Ipv6Match().apply(block))

/** Asks for a TCP header: `tcp { destinationPort(80) }`. */
public fun FlowAttributesBuilder.tcp(block: (@RdmaDsl PortMatch).() -> Unit = {}): FlowAttributesBuilder =
    match(PortMatch.tcp().apply(block))

/** Asks for a UDP header: `udp { destinationPort(4791) }`. */
public fun FlowAttributesBuilder.udp(block: (@RdmaDsl PortMatch).() -> Unit = {}): FlowAttributesBuilder =
    match(PortMatch.udp().apply(block))

/** Asks for an ESP header of IPsec: `esp { spi(0x1234) }`. */
public fun FlowAttributesBuilder.esp(block: (@RdmaDsl EspMatch).() -> Unit = {}): FlowAttributesBuilder =
    match(EspMatch().apply(block))

/** Asks for a VXLAN header: `vxlan { network(7) }`. The matches inside of the tunnel call `inner()`. */
public fun FlowAttributesBuilder.vxlan(block: (@RdmaDsl VxlanMatch).() -> Unit = {}): FlowAttributesBuilder =
    match(VxlanMatch().apply(block))

/** Asks for a destination address in its text form. */
public fun EthernetMatch.destination(address: String): EthernetMatch = destination(MacAddress.parse(address))

/** Asks for a source address in its text form. */
public fun EthernetMatch.source(address: String): EthernetMatch = source(MacAddress.parse(address))
