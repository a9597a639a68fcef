package org.kverbs.coroutines

import org.kverbs.attributes.PortAttributes

/**
 * Describes the state of a port.
 *
 * @property port the number of the port, from 1
 * @property attributes the port's state, speed and other attributes
 */
public data class PortStatus(
    val port: Int,
    val attributes: PortAttributes,
)
