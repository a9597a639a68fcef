package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.QueuePair
import org.kverbs.RemoteMemory

/** Posts one message that ends with a completion; errors as [QueuePair.postSend]. */
public fun TypedQueuePair<ConnectedVerbs>.postSend(
    from: MemorySlice,
    id: Long = 0,
): Unit = queuePair.postSend(id, from)

/** Posts one message that ends with a completion; errors as [QueuePair.postSend]. */
public fun QueuePair.postSend(
    from: MemorySlice,
    id: Long = 0,
): Unit = postSend(id, from)

/** Posts one write to the start of the peer's memory that ends with a completion; errors as [QueuePair.postSend]. */
public fun TypedQueuePair<WriteVerbs>.postWrite(
    from: MemorySlice,
    to: RemoteMemory,
    id: Long = 0,
): Unit = queuePair.postWrite(id, from, to)

/** Posts one write to the start of the peer's memory that ends with a completion; errors as [QueuePair.postSend]. */
public fun QueuePair.postWrite(
    from: MemorySlice,
    to: RemoteMemory,
    id: Long = 0,
): Unit = postWrite(id, from, to)

/** Posts one read from the start of the peer's memory that ends with a completion; errors as [QueuePair.postSend]. */
public fun TypedQueuePair<ReadVerbs>.postRead(
    into: MemorySlice,
    from: RemoteMemory,
    id: Long = 0,
): Unit = queuePair.postRead(id, into, from)

/** Posts one read from the start of the peer's memory that ends with a completion; errors as [QueuePair.postSend]. */
public fun QueuePair.postRead(
    into: MemorySlice,
    from: RemoteMemory,
    id: Long = 0,
): Unit = postRead(id, into, from)
