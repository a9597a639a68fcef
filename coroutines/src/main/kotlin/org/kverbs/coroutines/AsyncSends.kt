package org.kverbs.coroutines

import kotlinx.coroutines.Deferred
import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode
import org.kverbs.attributes.FlushPlacement
import org.kverbs.coroutines.SendOperation.READ
import org.kverbs.coroutines.SendOperation.SEND
import org.kverbs.coroutines.SendOperation.SEND_WITH_IMMEDIATE
import org.kverbs.coroutines.SendOperation.SEND_WITH_INVALIDATE
import org.kverbs.coroutines.SendOperation.WRITE
import org.kverbs.coroutines.SendOperation.WRITE_WITH_IMMEDIATE
import org.kverbs.dsl.ConnectedVerbs
import org.kverbs.dsl.DatagramVerbs
import org.kverbs.dsl.Destination
import org.kverbs.dsl.ReadVerbs
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.SendScope
import org.kverbs.dsl.Verbs
import org.kverbs.dsl.WriteVerbs
import org.kverbs.dsl.compose

// One suspend function for each operation, with the names of org.kverbs.dsl. Each returns when its request has
// completed: for RC when the peer's device has the bytes, for UC and UD when they are sent. A slice of a pooled buffer
// pins that buffer while the device can use it. `offset` counts bytes from the start of the remote memory. For waiting,
// cancellation and errors see AsyncQueuePair.

internal val COMPARE_AND_SWAP = WorkCompletionOpcode.COMP_SWAP.code()
internal val FETCH_AND_ADD = WorkCompletionOpcode.FETCH_ADD.code()
private val ATOMIC_WRITE = WorkCompletionOpcode.ATOMIC_WRITE.code()
private val FLUSH = WorkCompletionOpcode.FLUSH.code()

/** Sends a message to the peer's next receive. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.send(local: MemorySlice): Unit =
    sends.await(SEND, local, local.pin, 0, 0, 0, null)

/** Sends the first [length] bytes of a pooled buffer. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.send(
    buffer: RegisteredBuffer,
    length: Long = buffer.memory.byteSize(),
): Unit = sends.await(SEND, buffer.part(0, length), buffer, 0, 0, 0, null)

/** Sends a message of no bytes. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.sendEmpty(): Unit = sends.await(SEND, null, null, 0, 0, 0, null)

/** Sends a message with 32 bits of immediate data, a number in host byte order. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.sendWithImmediate(
    local: MemorySlice,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, local, local.pin, 0, 0, immediate, null)

/** Sends a message of no bytes with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.sendWithImmediate(immediate: Int): Unit =
    sends.await(SEND_WITH_IMMEDIATE, null, null, 0, 0, immediate, null)

/** Sends a message whose arrival invalidates one of the peer's rkeys. */
public suspend fun AsyncQueuePair<ReadVerbs>.sendWithInvalidate(
    local: MemorySlice,
    rkey: Int,
): Unit = sends.await(SEND_WITH_INVALIDATE, local, local.pin, 0, rkey, 0, null)

/** Sends a datagram. The device drops a datagram that is longer than the MTU of its port, without an error. */
public suspend fun AsyncQueuePair<DatagramVerbs>.send(
    local: MemorySlice,
    to: Destination,
): Unit = sends.await(SEND, local, local.pin, 0, 0, 0, to)

/** Sends a datagram of no bytes. */
public suspend fun AsyncQueuePair<DatagramVerbs>.sendEmpty(to: Destination): Unit =
    sends.await(SEND, null, null, 0, 0, 0, to)

/** Sends a datagram with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<DatagramVerbs>.sendWithImmediate(
    local: MemorySlice,
    to: Destination,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, local, local.pin, 0, 0, immediate, to)

/** Sends a datagram of no bytes with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<DatagramVerbs>.sendWithImmediate(
    to: Destination,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, null, null, 0, 0, immediate, to)

/** Writes into the peer's memory. The peer's program is not told. */
public suspend fun AsyncQueuePair<WriteVerbs>.write(
    local: MemorySlice,
    to: RemoteMemory,
    offset: Long = 0,
): Unit = sends.await(WRITE, local, local.pin, to.addressAt(offset, local.length()), to.rkey(), 0, null)

/** Writes no bytes. On RC, when it returns, the peer's device has answered and the earlier writes have arrived. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeEmpty(
    to: RemoteMemory,
    offset: Long = 0,
): Unit = sends.await(WRITE, null, null, to.addressAt(offset, 0), to.rkey(), 0, null)

/** Writes into the peer's memory, and completes the peer's next receive with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
): Unit =
    sends.await(
        WRITE_WITH_IMMEDIATE,
        local,
        local.pin,
        to.addressAt(offset, local.length()),
        to.rkey(),
        immediate,
        null,
    )

/** Writes no bytes, and completes the peer's next receive with 32 bits of immediate data. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeWithImmediate(
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
): Unit = sends.await(WRITE_WITH_IMMEDIATE, null, null, to.addressAt(offset, 0), to.rkey(), immediate, null)

/** Reads from the peer's memory. The peer's program is not told. */
public suspend fun AsyncQueuePair<ReadVerbs>.read(
    from: RemoteMemory,
    into: MemorySlice,
    offset: Long = 0,
): Unit = sends.await(READ, into, into.pin, from.addressAt(offset, into.length()), from.rkey(), 0, null)

/**
 * Replaces 8 bytes of the peer's memory by [swap] if they equal [compare], atomically. Their address must be a multiple
 * of 8.
 *
 * @return the value before, in this machine's byte order
 */
public suspend fun AsyncQueuePair<ReadVerbs>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    offset: Long = 0,
): Long =
    sends.awaitResult(COMPARE_AND_SWAP) { requests, id ->
        requests.compareAndSwap(id, on.addressAt(offset, 8), on.rkey(), compare, swap)
    }

/**
 * Adds to 8 bytes of the peer's memory, atomically. Their address must be a multiple of 8.
 *
 * @return the value before, in this machine's byte order
 */
public suspend fun AsyncQueuePair<ReadVerbs>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    offset: Long = 0,
): Long =
    sends.awaitResult(FETCH_AND_ADD) { requests, id ->
        requests.fetchAndAdd(id, on.addressAt(offset, 8), on.rkey(), add)
    }

/**
 * Writes 8 bytes of the peer's memory at once: no reader sees a part of them. Their address must be a multiple of 8,
 * and the queue pair must be made with `extended(Feature.ATOMIC_WRITE)`.
 *
 * @param value the bytes as a number in this machine's byte order
 * @throws org.kverbs.UnsupportedVerbException if the queue pair was made without the feature
 */
public suspend fun AsyncQueuePair<ReadVerbs>.atomicWrite(
    value: Long,
    to: RemoteMemory,
    offset: Long = 0,
): Unit =
    sends.await(ATOMIC_WRITE, null) { requests, id ->
        requests.atomicWrite(id, to.addressAt(offset, 8), to.rkey(), value)
    }

/**
 * Flushes [length] bytes of the peer's memory. When it returns, the writes before it to these bytes are placed as
 * asked. The queue pair must be made with `extended(Feature.FLUSH)`.
 *
 * @throws org.kverbs.UnsupportedVerbException if the queue pair was made without the feature
 * @throws IllegalArgumentException for more than 2 GiB: flush parts, or the whole region by [flushRegion]
 */
public suspend fun AsyncQueuePair<ReadVerbs>.flush(
    memory: RemoteMemory,
    placement: FlushPlacement = FlushPlacement.GLOBAL,
    offset: Long = 0,
    length: Long = memory.length() - offset,
): Unit =
    sends.await(FLUSH, null) { requests, id ->
        requests.flush(id, memory.addressAt(offset, length), length, memory.rkey(), placement)
    }

/** Flushes the whole region or window of a peer's key, whatever its length; otherwise as [flush]. */
public suspend fun AsyncQueuePair<ReadVerbs>.flushRegion(
    rkey: Int,
    placement: FlushPlacement = FlushPlacement.GLOBAL,
): Unit = sends.await(FLUSH, null) { requests, id -> requests.flushRegion(id, rkey, placement) }

/**
 * Posts the block's requests in one call, and returns when all of them have completed:
 * `qp.batch { write(a, to = remote); write(b, to = remote, offset = 64) }`. Only the last request creates a completion,
 * so that a batch costs one wake-up. If requests fail, the batch throws the first failure.
 *
 * @throws org.kverbs.WorkRequestException if the device refuses a request. The requests before it are under way; their
 *   queue entries and buffers are free again when a later request has completed
 */
public suspend fun <V : Verbs> AsyncQueuePair<V>.batch(block: SendScope<V>.() -> Unit): Unit =
    sends.awaitAll { typed.compose(it, block) }

/** Posts a receive, suspends until a message has arrived, and copies the message [into] the memory. */
public suspend fun AsyncQueuePair<ReceiveVerbs>.receive(into: MemorySlice): Received = receives.await(into, into.pin)

/** Posts a receive, suspends until a message has arrived, and copies the message [into] the buffer. */
public suspend fun AsyncQueuePair<ReceiveVerbs>.receive(into: RegisteredBuffer): Received =
    receives.await(into.all(), into)

/**
 * Posts a receive and returns at once, for a caller that must be ready before the peer sends:
 * `val answer = qp.postReceive(into); qp.send(question); answer.await()`. The result belongs to the queue pair, not to
 * a coroutine scope.
 *
 * The device writes the message [into] the memory without a copy. Therefore this receive gets the message of its own
 * request and no other, even if the receive before it was cancelled. If this receive is cancelled, its message goes to
 * the caller of `receive` that has waited longest, or to the next receive. If the message can come at the moment of the
 * cancellation, call `join` after `cancel`: then `isCancelled` tells whether this receive has the message.
 *
 * @throws IllegalStateException if the receive queue is full: this function does not wait
 * @throws org.kverbs.WorkRequestException if the device refuses the receive
 */
public fun AsyncQueuePair<ReceiveVerbs>.postReceive(into: MemorySlice): Deferred<Received> =
    receives.post(into, into.pin)

/** Posts a receive into the whole buffer; otherwise as above. */
public fun AsyncQueuePair<ReceiveVerbs>.postReceive(into: RegisteredBuffer): Deferred<Received> =
    receives.post(into.all(), into)
