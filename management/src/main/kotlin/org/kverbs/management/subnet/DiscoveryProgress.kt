package org.kverbs.management.subnet

/**
 * How far a discovery is.
 *
 * @property nodes how many nodes were found
 * @property outstanding how many questions have no answer yet
 * @property timeouts how many questions got no answer after all retries
 */
public data class DiscoveryProgress(
    public val nodes: Int,
    public val outstanding: Int,
    public val timeouts: Int,
)
