package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.dsl.RemoteSrq
import org.kverbs.dsl.SharedQueueVerbs

// The operations over XRC with an offset or a length as `Int`:
// `qp.write(local, to = remote, srq = queue, offset = i * size)`.

/** Sends the first [length] bytes of a pooled buffer, with the length as `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.send(
    buffer: RegisteredBuffer,
    srq: RemoteSrq,
    length: Int,
): Unit = send(buffer, srq, length.toLong())

/** Writes into the peer's memory, with the offset as `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.write(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Int,
): Unit = write(local, to, srq, offset.toLong())

/** Writes no bytes, with the offset as `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.writeEmpty(
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Int,
): Unit = writeEmpty(to, srq, offset.toLong())

/** Writes, and completes a receive of the peer's queue with 32 bits; the offset is an `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Int,
): Unit = writeWithImmediate(local, to, srq, immediate, offset.toLong())

/** Writes, and completes a receive of the peer's queue with 32 bits; the offset is an `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.writeWithImmediate(
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Int,
): Unit = writeWithImmediate(to, srq, immediate, offset.toLong())

/** Reads from the peer's memory, with the offset as `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.read(
    from: RemoteMemory,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Int,
): Unit = read(from, into, srq, offset.toLong())

/** Compares and swaps 8 bytes of the peer's memory; the offset is an `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    srq: RemoteSrq,
    offset: Int,
): Long = compareAndSwap(on, compare, swap, srq, offset.toLong())

/** Adds to 8 bytes of the peer's memory; the offset is an `Int`. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    srq: RemoteSrq,
    offset: Int,
): Long = fetchAndAdd(on, add, srq, offset.toLong())
