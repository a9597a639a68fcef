package org.kverbs.coroutines

/**
 * Describes the buffers of one size in a [BufferPool]; see [BufferPoolStats.sizes].
 *
 * @property size bytes of a buffer, a power of two; a caller that takes at most this many bytes, and more than half as
 *   many, gets such a buffer
 * @property registered number of buffers of this size in the slabs that are cut for it now, including the lent ones
 * @property taken number of those buffers that are lent
 * @property waiting number of callers that wait for a buffer of this size
 */
public data class BufferSizeStats(
    public val size: Long,
    public val registered: Long,
    public val taken: Int,
    public val waiting: Int,
)
