package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.MemoryWindow
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.FlushPlacement
import org.kverbs.internal.WorkRequestArena
import java.lang.foreign.MemorySegment

// One line an operation: the words of the core's SendRequests as a sentence, each only where the transport can do it.
// Each returns its request, so that `write(local, to = remote).signaled()` says which request makes a completion.
// `id` is what the completion names, 0 where nobody asks. `immediate` is a number in host order. `offset` counts
// bytes from the start of the remote memory; it is checked against its length, and makes no object as remote.at(64)
// may.

/** Sends a message to the peer's next receive request. */
public fun <V : ConnectedVerbs> SendScope<V>.send(
    local: MemorySlice,
    id: Long = 0,
): SendRequest<V> = begun(requests.send(id).from(local))

/** Sends a message of no bytes. */
public fun <V : ConnectedVerbs> SendScope<V>.sendEmpty(id: Long = 0): SendRequest<V> = begun(requests.send(id))

/** Sends a message whose bytes travel in the request itself, so that they may change at once; see `maxInlineData`. */
public fun <V : ConnectedVerbs> SendScope<V>.sendInline(
    bytes: MemorySegment,
    id: Long = 0,
): SendRequest<V> = begun(requests.send(id).inline(bytes))

/** Sends a message with 32 bits that arrive in the peer's completion. */
public fun <V : ConnectedVerbs> SendScope<V>.sendWithImmediate(
    local: MemorySlice,
    immediate: Int,
    id: Long = 0,
): SendRequest<V> = begun(requests.sendWithImmediate(id, immediate).from(local))

/** Sends a message of no bytes with 32 bits that arrive in the peer's completion. */
public fun <V : ConnectedVerbs> SendScope<V>.sendWithImmediate(
    immediate: Int,
    id: Long = 0,
): SendRequest<V> = begun(requests.sendWithImmediate(id, immediate))

/** Sends a message that ends one of the peer's keys when it arrives. */
public fun <V : ReadVerbs> SendScope<V>.sendWithInvalidate(
    local: MemorySlice,
    rkey: Int,
    id: Long = 0,
): SendRequest<V> = begun(requests.sendWithInvalidate(id, rkey).from(local))

/** Sends a datagram; it is at most an MTU long. */
public fun <V : DatagramVerbs> SendScope<V>.send(
    local: MemorySlice,
    to: Destination,
    id: Long = 0,
): SendRequest<V> = begun(requests.send(id).from(local).to(to.address, to.queuePairNumber, to.qkey))

/** Sends a datagram of no bytes. */
public fun <V : DatagramVerbs> SendScope<V>.sendEmpty(
    to: Destination,
    id: Long = 0,
): SendRequest<V> = begun(requests.send(id).to(to.address, to.queuePairNumber, to.qkey))

/** Sends a datagram whose bytes travel in the request itself. */
public fun <V : DatagramVerbs> SendScope<V>.sendInline(
    bytes: MemorySegment,
    to: Destination,
    id: Long = 0,
): SendRequest<V> = begun(requests.send(id).inline(bytes).to(to.address, to.queuePairNumber, to.qkey))

/** Sends a datagram with 32 bits that arrive in the peer's completion. */
public fun <V : DatagramVerbs> SendScope<V>.sendWithImmediate(
    local: MemorySlice,
    to: Destination,
    immediate: Int,
    id: Long = 0,
): SendRequest<V> =
    begun(requests.sendWithImmediate(id, immediate).from(local).to(to.address, to.queuePairNumber, to.qkey))

/** Sends a datagram of no bytes with 32 bits that arrive in the peer's completion. */
public fun <V : DatagramVerbs> SendScope<V>.sendWithImmediate(
    to: Destination,
    immediate: Int,
    id: Long = 0,
): SendRequest<V> = begun(requests.sendWithImmediate(id, immediate).to(to.address, to.queuePairNumber, to.qkey))

/** Writes into the peer's memory: `write(local, to = remote, offset = 64)`. */
public fun <V : WriteVerbs> SendScope<V>.write(
    local: MemorySlice,
    to: RemoteMemory,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = begun(requests.write(id, to.addressAt(offset, local.length()), to.rkey()).from(local))

/** Writes bytes that travel in the request itself, so that they may change at once. */
public fun <V : WriteVerbs> SendScope<V>.writeInline(
    bytes: MemorySegment,
    to: RemoteMemory,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = begun(requests.write(id, to.addressAt(offset, bytes.byteSize()), to.rkey()).inline(bytes))

/** Writes no bytes: its success says that the peer's device answers and that the writes before it have arrived. */
public fun <V : WriteVerbs> SendScope<V>.writeEmpty(
    to: RemoteMemory,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = begun(requests.write(id, to.addressAt(offset, 0), to.rkey()))

/** Writes into the peer's memory and completes its next receive request with 32 bits. */
public fun <V : WriteVerbs> SendScope<V>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> =
    begun(requests.writeWithImmediate(id, to.addressAt(offset, local.length()), to.rkey(), immediate).from(local))

/** Writes no bytes and completes the peer's next receive request with 32 bits. */
public fun <V : WriteVerbs> SendScope<V>.writeWithImmediate(
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = begun(requests.writeWithImmediate(id, to.addressAt(offset, 0), to.rkey(), immediate))

/** Reads the peer's memory: `read(remote, into = local)`. */
public fun <V : ReadVerbs> SendScope<V>.read(
    from: RemoteMemory,
    into: MemorySlice,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = begun(requests.read(id, from.addressAt(offset, into.length()), from.rkey()).into(into))

/**
 * If the peer's 8 bytes equal [compare] they become [swap]; what was there comes [into] 8 bytes here, in host order.
 */
public fun <V : ReadVerbs> SendScope<V>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    into: MemorySlice,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> =
    begun(requests.compareAndSwap(id, on.addressAt(offset, ATOMIC_BYTES), on.rkey(), compare, swap).into(into))

/** Adds to the peer's 8 bytes; what was there comes [into] 8 bytes here, in host order. */
public fun <V : ReadVerbs> SendScope<V>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    into: MemorySlice,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = begun(requests.fetchAndAdd(id, on.addressAt(offset, ATOMIC_BYTES), on.rkey(), add).into(into))

/**
 * Writes 8 bytes of the peer's memory at once: no reader sees a part of them. The queue pair must be made with
 * `extended(Feature.ATOMIC_WRITE)`.
 *
 * @param value the bytes as a number in this machine's byte order
 * @throws org.kverbs.UnsupportedVerbException by the post, if the queue pair was made without the feature
 */
public fun <V : ReadVerbs> SendScope<V>.atomicWrite(
    value: Long,
    to: RemoteMemory,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = begun(requests.atomicWrite(id, to.addressAt(offset, ATOMIC_BYTES), to.rkey(), value))

/**
 * Flushes [length] bytes of the peer's memory: success says that the writes before it to these bytes are placed as
 * asked. The queue pair must be made with `extended(Feature.FLUSH)`.
 *
 * @throws org.kverbs.UnsupportedVerbException by the post, if the queue pair was made without the feature
 * @throws IllegalArgumentException for more than 2 GiB: flush parts, or the whole region by [flushRegion]
 */
public fun <V : ReadVerbs> SendScope<V>.flush(
    memory: RemoteMemory,
    placement: FlushPlacement = FlushPlacement.GLOBAL,
    offset: Long = 0,
    length: Long = memory.length() - offset,
    id: Long = 0,
): SendRequest<V> = begun(requests.flush(id, memory.addressAt(offset, length), length, memory.rkey(), placement))

/** Flushes the whole region or window of a peer's key, whatever its length; otherwise as [flush]. */
public fun <V : ReadVerbs> SendScope<V>.flushRegion(
    rkey: Int,
    placement: FlushPlacement = FlushPlacement.GLOBAL,
    id: Long = 0,
): SendRequest<V> = begun(requests.flushRegion(id, rkey, placement))

/** Ends one of this side's keys, for example that of a type 2 window. */
public fun <V : WindowVerbs> SendScope<V>.localInvalidate(
    rkey: Int,
    id: Long = 0,
): SendRequest<V> = begun(requests.localInvalidate(id, rkey))

/**
 * Binds a type 2 window under [rkey], made by [nextRkey], to part of a region. The list of flags is an array, made anew
 * by each call.
 */
public fun <V : WindowVerbs> SendScope<V>.bind(
    window: MemoryWindow,
    rkey: Int,
    to: MemorySlice,
    vararg access: AccessFlag,
    id: Long = 0,
): SendRequest<V> = begun(requests.bind(id, window, rkey, to, AccessFlag.mask(*access)))

/** The next rkey for a type 2 window: its current one with the low 8 bits counted up (ibv_inc_rkey). */
public fun MemoryWindow.nextRkey(): Int = MemoryWindow.nextRkey(rkey())

/** Returns the request that was begun last. */
internal fun <V : Verbs> begun(requests: SendRequests) = SendRequest<V>(WorkRequestArena.DOOR.of(requests).lastTicket())

internal const val ATOMIC_BYTES = Long.SIZE_BYTES.toLong()
