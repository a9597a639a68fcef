package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import java.lang.foreign.MemorySegment

// The operations of Sends.kt over XRC. Each names the peer's shared receive queue: a message takes one of its receives,
// and the others reach the memory of its protection domain.

/** Sends a message to the next receive request of the peer's queue. */
public fun <V : SharedQueueVerbs> SendScope<V>.send(
    local: MemorySlice,
    srq: RemoteSrq,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { send(local, id) }

/** Sends a message of no bytes. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendEmpty(
    srq: RemoteSrq,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { sendEmpty(id) }

/** Sends a message whose bytes travel in the request itself, so that they may change at once; see `maxInlineData`. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendInline(
    bytes: MemorySegment,
    srq: RemoteSrq,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { sendInline(bytes, id) }

/** Sends a message with 32 bits that arrive in the peer's completion. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendWithImmediate(
    local: MemorySlice,
    srq: RemoteSrq,
    immediate: Int,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { sendWithImmediate(local, immediate, id) }

/** Sends a message of no bytes with 32 bits that arrive in the peer's completion. */
public fun <V : SharedQueueVerbs> SendScope<V>.sendWithImmediate(
    srq: RemoteSrq,
    immediate: Int,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { sendWithImmediate(immediate, id) }

/** Writes into the peer's memory: `write(local, to = remote, srq = queue)`. */
public fun <V : SharedQueueVerbs> SendScope<V>.write(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { write(local, to, offset, id) }

/** Writes bytes that travel in the request itself, so that they may change at once. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeInline(
    bytes: MemorySegment,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { writeInline(bytes, to, offset, id) }

/** Writes no bytes: its success says that the peer's device answers and that the writes before it have arrived. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeEmpty(
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { writeEmpty(to, offset, id) }

/** Writes into the peer's memory and completes the next receive request of its queue with 32 bits. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { writeWithImmediate(local, to, immediate, offset, id) }

/** Writes no bytes and completes the next receive request of the peer's queue with 32 bits. */
public fun <V : SharedQueueVerbs> SendScope<V>.writeWithImmediate(
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { writeWithImmediate(to, immediate, offset, id) }

/** Reads the peer's memory: `read(remote, into = local, srq = queue)`. */
public fun <V : SharedQueueVerbs> SendScope<V>.read(
    from: RemoteMemory,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { read(from, into, offset, id) }

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
): SendRequest<V> = toQueue(srq) { compareAndSwap(on, compare, swap, into, offset, id) }

/** Adds to the peer's 8 bytes; what was there comes [into] 8 bytes here, in host order. */
public fun <V : SharedQueueVerbs> SendScope<V>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Long = 0,
    id: Long = 0,
): SendRequest<V> = toQueue(srq) { fetchAndAdd(on, add, into, offset, id) }

/** Adds an operation of RC, and names the peer's queue for it. */
private inline fun <V : SharedQueueVerbs> SendScope<V>.toQueue(
    srq: RemoteSrq,
    operation: SendScope<RcVerbs>.() -> Unit,
): SendRequest<V> {
    SendScope<RcVerbs>(requests).operation()
    return begun(requests.toSharedReceiveQueue(srq.number))
}
