package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.MemoryWindow
import org.kverbs.RemoteMemory
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.MemorySegment

// One line an operation: the words of the core's SendRequests as a sentence, each only where the transport can do it.
// `id` is what the completion names, 0 where nobody asks. `immediate` is a number in host order. `offset` counts
// bytes from the start of the remote memory; it is checked against its length, and makes no object as remote.at(64)
// may.

/** Sends a message to the peer's next receive request. */
public fun SendScope<ConnectedVerbs>.send(
    local: MemorySlice,
    id: Long = 0,
) {
    requests.send(id).from(local)
}

/** Sends a message of no bytes. */
public fun SendScope<ConnectedVerbs>.sendEmpty(id: Long = 0) {
    requests.send(id)
}

/** Sends a message whose bytes travel in the request itself, so that they may change at once; see `maxInlineData`. */
public fun SendScope<ConnectedVerbs>.sendInline(
    bytes: MemorySegment,
    id: Long = 0,
) {
    requests.send(id).inline(bytes)
}

/** Sends a message with 32 bits that arrive in the peer's completion. */
public fun SendScope<ConnectedVerbs>.sendWithImmediate(
    local: MemorySlice,
    immediate: Int,
    id: Long = 0,
) {
    requests.sendWithImmediate(id, immediate).from(local)
}

/** Sends a message of no bytes with 32 bits that arrive in the peer's completion. */
public fun SendScope<ConnectedVerbs>.sendWithImmediate(
    immediate: Int,
    id: Long = 0,
) {
    requests.sendWithImmediate(id, immediate)
}

/** Sends a message that ends one of the peer's keys when it arrives. */
public fun SendScope<ReadVerbs>.sendWithInvalidate(
    local: MemorySlice,
    invalidate: Int,
    id: Long = 0,
) {
    requests.sendWithInvalidate(id, invalidate).from(local)
}

/** Sends a datagram; it is at most an MTU long. */
public fun SendScope<DatagramVerbs>.send(
    local: MemorySlice,
    to: Destination,
    id: Long = 0,
) {
    requests.send(id).from(local).to(to.address, to.queuePairNumber, to.qkey)
}

/** Sends a datagram of no bytes. */
public fun SendScope<DatagramVerbs>.sendEmpty(
    to: Destination,
    id: Long = 0,
) {
    requests.send(id).to(to.address, to.queuePairNumber, to.qkey)
}

/** Sends a datagram whose bytes travel in the request itself. */
public fun SendScope<DatagramVerbs>.sendInline(
    bytes: MemorySegment,
    to: Destination,
    id: Long = 0,
) {
    requests.send(id).inline(bytes).to(to.address, to.queuePairNumber, to.qkey)
}

/** Sends a datagram with 32 bits that arrive in the peer's completion. */
public fun SendScope<DatagramVerbs>.sendWithImmediate(
    local: MemorySlice,
    to: Destination,
    immediate: Int,
    id: Long = 0,
) {
    requests.sendWithImmediate(id, immediate).from(local).to(to.address, to.queuePairNumber, to.qkey)
}

/** Sends a datagram of no bytes with 32 bits that arrive in the peer's completion. */
public fun SendScope<DatagramVerbs>.sendWithImmediate(
    to: Destination,
    immediate: Int,
    id: Long = 0,
) {
    requests.sendWithImmediate(id, immediate).to(to.address, to.queuePairNumber, to.qkey)
}

/** Writes into the peer's memory: `write(local, to = remote, offset = 64)`. */
public fun SendScope<WriteVerbs>.write(
    local: MemorySlice,
    to: RemoteMemory,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.write(id, to.addressAt(offset), to.rkey()).from(local)
}

/** Writes bytes that travel in the request itself, so that they may change at once. */
public fun SendScope<WriteVerbs>.writeInline(
    bytes: MemorySegment,
    to: RemoteMemory,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.write(id, to.addressAt(offset), to.rkey()).inline(bytes)
}

/** Writes no bytes: its success says that the peer's device answers and that the writes before it have arrived. */
public fun SendScope<WriteVerbs>.writeEmpty(
    to: RemoteMemory,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.write(id, to.addressAt(offset), to.rkey())
}

/** Writes into the peer's memory and completes its next receive request with 32 bits. */
public fun SendScope<WriteVerbs>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.writeWithImmediate(id, to.addressAt(offset), to.rkey(), immediate).from(local)
}

/** Writes no bytes and completes the peer's next receive request with 32 bits. */
public fun SendScope<WriteVerbs>.writeWithImmediate(
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.writeWithImmediate(id, to.addressAt(offset), to.rkey(), immediate)
}

/** Reads the peer's memory: `read(remote, into = local)`. */
public fun SendScope<ReadVerbs>.read(
    from: RemoteMemory,
    into: MemorySlice,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.read(id, from.addressAt(offset), from.rkey()).into(into)
}

/**
 * If the peer's 8 bytes equal [compare] they become [swap]; what was there comes [into] 8 bytes here, in host order.
 */
public fun SendScope<ReadVerbs>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    into: MemorySlice,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.compareAndSwap(id, on.addressAt(offset), on.rkey(), compare, swap).into(into)
}

/** Adds to the peer's 8 bytes; what was there comes [into] 8 bytes here, in host order. */
public fun SendScope<ReadVerbs>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    into: MemorySlice,
    offset: Long = 0,
    id: Long = 0,
) {
    requests.fetchAndAdd(id, on.addressAt(offset), on.rkey(), add).into(into)
}

/** Ends one of this side's keys. */
public fun SendScope<WriteVerbs>.localInvalidate(
    key: Int,
    id: Long = 0,
) {
    requests.localInvalidate(id, key)
}

/**
 * Binds a type 2 window under [key], made by [nextKey], to part of a region. The list of flags is an array, made anew
 * by each call.
 */
public fun SendScope<WriteVerbs>.bind(
    window: MemoryWindow,
    key: Int,
    to: MemorySlice,
    vararg access: AccessFlag,
    id: Long = 0,
) {
    requests.bind(id, window, key, to, AccessFlag.mask(*access))
}

/** The next key for a type 2 window: its current one with the low 8 bits counted up (ibv_inc_rkey). */
public fun MemoryWindow.nextKey(): Int = MemoryWindow.nextRkey(rkey())

/** Adds a second and further buffer to the request, gathered or filled in order. */
public fun SendScope<Verbs>.and(buffer: MemorySlice) {
    requests.from(buffer)
}

/** Makes the request's success a completion; a failure always is one. */
public fun SendScope<Verbs>.signaled() {
    requests.signaled()
}

/** Raises an event at a peer that armed for solicited messages only. */
public fun SendScope<Verbs>.solicited() {
    requests.solicited()
}

/** Starts the request only when all reads and atomics before it are done. */
public fun SendScope<ReadVerbs>.fence() {
    requests.fence()
}

private fun RemoteMemory.addressAt(offset: Long): Long {
    if (offset < 0 || offset > length()) {
        throw IndexOutOfBoundsException("offset $offset is outside the remote memory of ${length()} bytes")
    }
    return address() + offset
}
