package org.kverbs.coroutines

/**
 * What an [RdmaServer] has done, and what it holds now; see [RdmaServer.stats].
 *
 * @property connections that are up now
 * @property halfOpen clients that come up now
 * @property accepted connections that came up, since the server was made
 * @property refused clients that were rejected or did not come up, since then
 * @property failed connections whose handler threw, since then
 * @property memory bytes that the connections hold, as [ServerBuilder.memory] counts them
 */
public data class ServerStats(
    public val connections: Int,
    public val halfOpen: Int,
    public val accepted: Long,
    public val refused: Long,
    public val failed: Long,
    public val memory: Long,
)
