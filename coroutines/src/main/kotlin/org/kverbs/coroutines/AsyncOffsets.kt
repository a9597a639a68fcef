package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.dsl.ConnectedVerbs
import org.kverbs.dsl.ReadVerbs
import org.kverbs.dsl.WriteVerbs

// The operations with an offset or a length as `Int`: `qp.write(local, to = remote, offset = i * size)`.

/** Sends the first [length] bytes of a pooled buffer, with the length as `Int`. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.send(
    buffer: RegisteredBuffer,
    length: Int,
): Unit = send(buffer, length.toLong())

/** Writes into the peer's memory, with the offset as `Int`. */
public suspend fun AsyncQueuePair<WriteVerbs>.write(
    local: MemorySlice,
    to: RemoteMemory,
    offset: Int,
): Unit = write(local, to, offset.toLong())

/** Writes no bytes, with the offset as `Int`. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeEmpty(
    to: RemoteMemory,
    offset: Int,
): Unit = writeEmpty(to, offset.toLong())

/** Writes into the peer's memory, and completes the peer's next receive with 32 bits; the offset is an `Int`. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    immediate: Int,
    offset: Int,
): Unit = writeWithImmediate(local, to, immediate, offset.toLong())

/** Writes no bytes, and completes the peer's next receive with 32 bits; the offset is an `Int`. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeWithImmediate(
    to: RemoteMemory,
    immediate: Int,
    offset: Int,
): Unit = writeWithImmediate(to, immediate, offset.toLong())

/** Reads from the peer's memory, with the offset as `Int`. */
public suspend fun AsyncQueuePair<ReadVerbs>.read(
    from: RemoteMemory,
    into: MemorySlice,
    offset: Int,
): Unit = read(from, into, offset.toLong())

/** Writes 8 bytes of the peer's memory at once, with the offset as `Int`. */
public suspend fun AsyncQueuePair<ReadVerbs>.atomicWrite(
    value: Long,
    to: RemoteMemory,
    offset: Int,
): Unit = atomicWrite(value, to, offset.toLong())

/** Compares and swaps 8 bytes of the peer's memory, with the offset as `Int`; returns the value before. */
public suspend fun AsyncQueuePair<ReadVerbs>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    offset: Int,
): Long = compareAndSwap(on, compare, swap, offset.toLong())

/** Adds to 8 bytes of the peer's memory, with the offset as `Int`; returns the value before. */
public suspend fun AsyncQueuePair<ReadVerbs>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    offset: Int,
): Long = fetchAndAdd(on, add, offset.toLong())
