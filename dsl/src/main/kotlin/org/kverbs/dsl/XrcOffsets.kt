package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import java.lang.foreign.MemorySegment

// The operations over XRC with an offset as `Int`: `write(local, to = remote, srq = queue, offset = i * size)`.

/** Writes into the peer's memory, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.write(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = write(local, to, srq, offset.toLong(), id)

/** Writes bytes that travel in the request itself, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeInline(
    bytes: MemorySegment,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeInline(bytes, to, srq, offset.toLong(), id)

/** Writes no bytes, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeEmpty(
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeEmpty(to, srq, offset.toLong(), id)

/** Writes, and completes a receive of the peer's queue with 32 bits, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeWithImmediate(local, to, srq, immediate, offset.toLong(), id)

/** Writes, and completes a receive of the peer's queue with 32 bits, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeWithImmediate(
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeWithImmediate(to, srq, immediate, offset.toLong(), id)

/** Reads the peer's memory, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.read(
    from: RemoteMemory,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = read(from, into, srq, offset.toLong(), id)

/** Compares and swaps the peer's 8 bytes, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = compareAndSwap(on, compare, swap, into, srq, offset.toLong(), id)

/** Adds to the peer's 8 bytes, with the offset as `Int`. */
public fun <V : SharedQueueVerbs> SendScope<V>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = fetchAndAdd(on, add, into, srq, offset.toLong(), id)
