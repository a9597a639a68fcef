package org.kverbs.coroutines

/**
 * What a [BufferPool] holds of one size; see [BufferPoolStats.sizes].
 *
 * @property size bytes of a buffer, a power of two: those that were taken with up to so many bytes, and more than
 *   half as many
 * @property registered how many buffers of this size the memory has room for that is cut for it now, the lent ones
 *   among them
 * @property lent how many of them are lent
 * @property waiting callers that wait for one
 */
public data class BufferSizeStats(
    public val size: Long,
    public val registered: Long,
    public val lent: Int,
    public val waiting: Int,
)
