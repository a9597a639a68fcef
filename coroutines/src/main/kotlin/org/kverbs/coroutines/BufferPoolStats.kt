package org.kverbs.coroutines

/**
 * What a [BufferPool] holds, all of it at one moment; see [BufferPool.stats].
 *
 * @property capacity bytes that it may register
 * @property registered bytes that it has registered, the lent ones among them
 * @property lent bytes that are lent; a buffer counts with its size rounded up to a power of two
 * @property buffers how many buffers are lent: not closed, or still in use by a work request
 * @property waiting callers that wait for a buffer
 * @property sizes the same for each size of buffers, the smallest first
 */
public data class BufferPoolStats(
    public val capacity: Long,
    public val registered: Long,
    public val lent: Long,
    public val buffers: Int,
    public val waiting: Int,
    public val sizes: List<BufferSizeStats>,
)
