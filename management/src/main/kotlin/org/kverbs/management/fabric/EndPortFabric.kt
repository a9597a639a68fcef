package org.kverbs.management.fabric

import org.kverbs.management.port.EndPort
import org.kverbs.management.transport.UmadTransport

/**
 * Opens a port of this machine, and asks the fabric behind it: `endPort("mlx5_0/1").fabric()`. Closing the fabric
 * closes the port.
 *
 * @throws org.kverbs.LibraryUnavailableException if libibumad is missing
 * @throws org.kverbs.RdmaSystemException if this user may not, or the port is gone; the message says what to do
 */
public fun EndPort.fabric(configure: FabricBuilder.() -> Unit = {}): Fabric =
    fabric(UmadTransport.open(this), configure)
