package org.kverbs.management.fabric

import org.kverbs.ProtectionDomain
import org.kverbs.management.transport.UdTransport
import org.kverbs.management.transport.UdTransportBuilder

/**
 * Asks and answers over a queue pair of its own: `udFabric(pd).use { ... }`. A program that tells its address to
 * others opens a [UdTransport] itself, which has it, and gives that to [fabric].
 *
 * @param pd the protection domain, which stays open
 * @param datagrams the settings of the queue pair
 * @param configure the settings of the fabric
 * @throws org.kverbs.RdmaSystemException if the device refuses the queue pair
 */
public fun udFabric(
    pd: ProtectionDomain,
    datagrams: UdTransportBuilder.() -> Unit = {},
    configure: FabricBuilder.() -> Unit = {},
): Fabric = fabric(UdTransport.open(pd, datagrams), configure)
