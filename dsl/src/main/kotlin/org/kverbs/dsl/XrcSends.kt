package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import java.lang.foreign.MemorySegment

// The operations of Sends.kt over XRC. Each names the peer's shared receive queue: a message takes one of its receives,
// and the others reach the memory of its protection domain.

/** Sends a message to the next receive request of the peer's queue. */
public fun <V : SharedQueueVerbs> SendScope<V>.send(
    local: MemorySlice,
    srq: RemoteSrq,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.send(id).from(local))

/** Sends a message of no bytes. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendEmpty(
    srq: RemoteSrq,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.send(id))

/** Sends a message whose bytes travel in the request itself, so that they may change at once; see `maxInlineData`. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendInline(
    bytes: MemorySegment,
    srq: RemoteSrq,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.send(id).inline(bytes))

/** Sends a message with 32 bits that arrive in the peer's completion. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendWithImmediate(
    local: MemorySlice,
    srq: RemoteSrq,
    immediate: Int,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.sendWithImmediate(id, immediate).from(local))

/** Sends a message of no bytes with 32 bits that arrive in the peer's completion. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendWithImmediate(
    srq: RemoteSrq,
    immediate: Int,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.sendWithImmediate(id, immediate))

/** Writes into the peer's memory: `write(local, to = remote, srq = queue)`. */
public fun <V : SharedQueueVerbs> SendScope<V>.write(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.write(id, to.addressAt(offset, local.length()), to.rkey()).from(local))

/** Writes bytes that travel in the request itself, so that they may change at once. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeInline(
    bytes: MemorySegment,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.write(id, to.addressAt(offset, bytes.byteSize()), to.rkey()).inline(bytes))

/** Writes no bytes: its success says that the peer's device answers and that the writes before it have arrived. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeEmpty(
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.write(id, to.addressAt(offset, 0), to.rkey()))

/** Writes into the peer's memory and completes the next receive request of its queue with 32 bits. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> {
    val address = to.addressAt(offset, local.length())
    return toQueue(srq, requests.writeWithImmediate(id, address, to.rkey(), immediate).from(local))
}

/** Writes no bytes and completes the next receive request of the peer's queue with 32 bits. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeWithImmediate(
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.writeWithImmediate(id, to.addressAt(offset, 0), to.rkey(), immediate))

/** Reads the peer's memory: `read(remote, into = local, srq = queue)`. */
public fun <V : SharedQueueVerbs> SendScope<V>.read(
    from: RemoteMemory,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq, requests.read(id, from.addressAt(offset, into.length()), from.rkey()).into(into))

/**
 * If the peer's 8 bytes equal [compare] they become [swap]; what was there comes [into] 8 bytes here, in host order.
 */
public fun <V : SharedQueueVerbs> SendScope<V>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> {
    val address = on.addressAt(offset, ATOMIC_BYTES)
    return toQueue(srq, requests.compareAndSwap(id, address, on.rkey(), compare, swap).into(into))
}

/** Adds to the peer's 8 bytes; what was there comes [into] 8 bytes here, in host order. */
public fun <V : SharedQueueVerbs> SendScope<V>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> =
    toQueue(srq, requests.fetchAndAdd(id, on.addressAt(offset, ATOMIC_BYTES), on.rkey(), add).into(into))

private fun <V : SharedQueueVerbs> toQueue(
    srq: RemoteSrq,
    requests: SendRequests,
): SendRequest<V> = begun(requests.toSharedReceiveQueue(srq.number))
