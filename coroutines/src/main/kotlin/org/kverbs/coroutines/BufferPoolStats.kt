package org.kverbs.coroutines

/**
 * Describes a [BufferPool] at one moment; see [BufferPool.stats].
 *
 * @property capacity bytes that the pool can register
 * @property registered bytes that the pool has registered, including the lent ones
 * @property takenBytes bytes that are lent; a buffer counts with its size rounded up to a power of two
 * @property taken number of buffers that are lent: not closed, or still in use by a work request
 * @property waiting number of callers that wait for a buffer
 * @property sizes the figures of each buffer size, the smallest first
 */
public data class BufferPoolStats(
    public val capacity: Long,
    public val registered: Long,
    public val takenBytes: Long,
    public val taken: Int,
    public val waiting: Int,
    public val sizes: List<BufferSizeStats>,
)
