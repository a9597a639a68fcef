package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import java.lang.foreign.MemorySegment

// The operations with an offset as `Int`: `write(local, to = remote, offset = i * size)`.

/** Writes into the peer's memory, with the offset as `Int`. */
public fun <V : WriteVerbs> SendScope<V>.write(
    local: MemorySlice,
    to: RemoteMemory,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = write(local, to, offset.toLong(), id)

/** Writes bytes that travel in the request itself, with the offset as `Int`. */
public fun <V : WriteVerbs> SendScope<V>.writeInline(
    bytes: MemorySegment,
    to: RemoteMemory,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeInline(bytes, to, offset.toLong(), id)

/** Writes no bytes, with the offset as `Int`. */
public fun <V : WriteVerbs> SendScope<V>.writeEmpty(
    to: RemoteMemory,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeEmpty(to, offset.toLong(), id)

/** Writes into the peer's memory and completes its next receive request with 32 bits; the offset is an `Int`. */
public fun <V : WriteVerbs> SendScope<V>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    immediate: Int,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeWithImmediate(local, to, immediate, offset.toLong(), id)

/** Writes no bytes and completes the peer's next receive request with 32 bits; the offset is an `Int`. */
public fun <V : WriteVerbs> SendScope<V>.writeWithImmediate(
    to: RemoteMemory,
    immediate: Int,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = writeWithImmediate(to, immediate, offset.toLong(), id)

/** Reads the peer's memory, with the offset as `Int`. */
public fun <V : ReadVerbs> SendScope<V>.read(
    from: RemoteMemory,
    into: MemorySlice,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = read(from, into, offset.toLong(), id)

/** Writes the peer's 8 bytes at once, with the offset as `Int`. */
public fun <V : ReadVerbs> SendScope<V>.atomicWrite(
    value: Long,
    to: RemoteMemory,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = atomicWrite(value, to, offset.toLong(), id)

/** Compares and swaps the peer's 8 bytes, with the offset as `Int`. */
public fun <V : ReadVerbs> SendScope<V>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    into: MemorySlice,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = compareAndSwap(on, compare, swap, into, offset.toLong(), id)

/** Adds to the peer's 8 bytes, with the offset as `Int`. */
public fun <V : ReadVerbs> SendScope<V>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    into: MemorySlice,
    offset: Int,
    id: Long = 0,
): SendRequest<V> = fetchAndAdd(on, add, into, offset.toLong(), id)
