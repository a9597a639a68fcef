package org.kverbs.coroutines

import org.kverbs.attributes.PortAttributes

/**
 * A port as it is now.
 *
 * @property port its number, from 1
 * @property attributes its state, speed and the rest
 */
public data class PortStatus(
    val port: Int,
    val attributes: PortAttributes,
)
