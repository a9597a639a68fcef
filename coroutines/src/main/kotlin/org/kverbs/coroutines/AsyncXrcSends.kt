package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.coroutines.SendOperation.READ
import org.kverbs.coroutines.SendOperation.SEND
import org.kverbs.coroutines.SendOperation.SEND_WITH_IMMEDIATE
import org.kverbs.coroutines.SendOperation.WRITE
import org.kverbs.coroutines.SendOperation.WRITE_WITH_IMMEDIATE
import org.kverbs.dsl.RemoteSrq
import org.kverbs.dsl.SharedQueueVerbs

// The operations of AsyncSends.kt over XRC. Each names the peer's shared receive queue: a message takes one of its
// receives, and the others reach the memory of its protection domain. Each returns when the peer's device has answered.

/** Sends a message to the next receive of the peer's queue. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.send(
    local: MemorySlice,
    srq: RemoteSrq,
): Unit = sends.await(SEND, local, local.pin, 0, 0, 0, null, srq.number)

/** Sends the first [length] bytes of a pooled buffer to the next receive of the peer's queue. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.send(
    buffer: RegisteredBuffer,
    srq: RemoteSrq,
    length: Long = buffer.memory.byteSize(),
): Unit = sends.await(SEND, buffer.part(0, length), buffer, 0, 0, 0, null, srq.number)

/** Sends a message of no bytes. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.sendEmpty(srq: RemoteSrq): Unit =
    sends.await(SEND, null, null, 0, 0, 0, null, srq.number)

/** Sends a message with 32 bits of immediate data, a number in host byte order. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.sendWithImmediate(
    local: MemorySlice,
    srq: RemoteSrq,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, local, local.pin, 0, 0, immediate, null, srq.number)

/** Sends a message of no bytes with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.sendWithImmediate(
    srq: RemoteSrq,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, null, null, 0, 0, immediate, null, srq.number)

/** Writes into the peer's memory. The peer's program is not told. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.write(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
): Unit = sends.await(WRITE, local, local.pin, to.addressAt(offset, local.length()), to.rkey(), 0, null, srq.number)

/** Writes no bytes. When it returns, the peer's device has answered and the earlier writes have arrived. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.writeEmpty(
    to: RemoteMemory,
    srq: RemoteSrq,
    offset: Long = 0,
): Unit = sends.await(WRITE, null, null, to.addressAt(offset, 0), to.rkey(), 0, null, srq.number)

/** Writes into the peer's memory, and completes the next receive of the peer's queue with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Long = 0,
) {
    val address = to.addressAt(offset, local.length())
    return sends.await(WRITE_WITH_IMMEDIATE, local, local.pin, address, to.rkey(), immediate, null, srq.number)
}

/** Writes no bytes, and completes the next receive of the peer's queue with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.writeWithImmediate(
    to: RemoteMemory,
    srq: RemoteSrq,
    immediate: Int,
    offset: Long = 0,
): Unit = sends.await(WRITE_WITH_IMMEDIATE, null, null, to.addressAt(offset, 0), to.rkey(), immediate, null, srq.number)

/** Reads from the peer's memory. The peer's program is not told. */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.read(
    from: RemoteMemory,
    into: MemorySlice,
    srq: RemoteSrq,
    offset: Long = 0,
): Unit = sends.await(READ, into, into.pin, from.addressAt(offset, into.length()), from.rkey(), 0, null, srq.number)

/**
 * Replaces 8 bytes of the peer's memory by [swap] if they equal [compare], atomically. Their address must be a multiple
 * of 8.
 *
 * @return the value before, in this machine's byte order
 */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    srq: RemoteSrq,
    offset: Long = 0,
): Long =
    sends.awaitResult(COMPARE_AND_SWAP) { requests, id ->
        val address = on.addressAt(offset, Long.SIZE_BYTES.toLong())
        requests.compareAndSwap(id, address, on.rkey(), compare, swap).toSharedReceiveQueue(srq.number)
    }

/**
 * Adds to 8 bytes of the peer's memory, atomically. Their address must be a multiple of 8.
 *
 * @return the value before, in this machine's byte order
 */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    srq: RemoteSrq,
    offset: Long = 0,
): Long =
    sends.awaitResult(FETCH_AND_ADD) { requests, id ->
        val address = on.addressAt(offset, Long.SIZE_BYTES.toLong())
        requests.fetchAndAdd(id, address, on.rkey(), add).toSharedReceiveQueue(srq.number)
    }
