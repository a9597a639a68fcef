package org.kverbs.coroutines

/**
 * Describes what an [RdmaServer] has done so far, and what it holds now; see [RdmaServer.stats].
 *
 * @property connections number of open connections
 * @property halfOpen number of clients whose connections are being set up
 * @property accepted number of connections that were set up since the server was created
 * @property rejected number of clients since then that were rejected, or whose connection could not be set up
 * @property failed number of connections since then whose handler threw an exception
 * @property memory bytes that the connections hold, as [ServerBuilder.maxMemory] counts them
 */
public data class ServerStats(
    public val connections: Int,
    public val halfOpen: Int,
    public val accepted: Long,
    public val rejected: Long,
    public val failed: Long,
    public val memory: Long,
)
