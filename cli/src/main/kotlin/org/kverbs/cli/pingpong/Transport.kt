package org.kverbs.cli.pingpong

import org.kverbs.embedded.EmbeddedProvider

/**
 * The way that messages take between two ends on embedded devices.
 *
 * @property words tell [EmbeddedProvider] which devices to make in this process
 */
sealed class Transport(
    internal val words: String,
    private val text: String,
) {
    /** Two devices in this process, from memory to memory. */
    data object Memory : Transport("memory,memory", "in process, from memory to memory")

    /**
     * A process for each end, and packets between them.
     *
     * @property address this end's, IPv4 or IPv6; null for the first free one from 127.0.0.1 on
     */
    data class Udp(
        val address: String? = null,
    ) : Transport(if (address == null) "udp" else "udp:$address", "RoCEv2 over UDP, two processes")

    /** Names the transport for a person. */
    final override fun toString() = text
}
