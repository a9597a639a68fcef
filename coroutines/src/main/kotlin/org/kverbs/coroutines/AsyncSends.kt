package org.kverbs.coroutines

import kotlinx.coroutines.Deferred
import org.kverbs.MemorySlice
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode
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
import org.kverbs.dsl.SendScope
import org.kverbs.dsl.Verbs
import org.kverbs.dsl.WriteVerbs
import org.kverbs.dsl.compose

// One suspend function an operation, named as in org.kverbs.dsl. Each returns when its request has completed: for RC
// when the peer's device has the bytes, for UC and UD when they are sent. A slice of a pooled buffer keeps that buffer
// for as long as the device may use it. `offset` counts bytes from the start of the remote memory. Waiting,
// cancellation and errors are those of AsyncQueuePair.

private val COMPARE_AND_SWAP = WorkCompletionOpcode.COMP_SWAP.code()
private val FETCH_AND_ADD = WorkCompletionOpcode.FETCH_ADD.code()

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

/** Sends a message with 32 bits, a number in host order, that arrive with it. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.sendWithImmediate(
    local: MemorySlice,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, local, local.pin, 0, 0, immediate, null)

/** Sends a message of no bytes with 32 bits that arrive with it. */
public suspend fun AsyncQueuePair<ConnectedVerbs>.sendWithImmediate(immediate: Int): Unit =
    sends.await(SEND_WITH_IMMEDIATE, null, null, 0, 0, immediate, null)

/** Sends a message that ends one of the peer's keys when it arrives. */
public suspend fun AsyncQueuePair<ReadVerbs>.sendWithInvalidate(
    local: MemorySlice,
    invalidate: Int,
): Unit = sends.await(SEND_WITH_INVALIDATE, local, local.pin, 0, invalidate, 0, null)

/** Sends a datagram. A device drops one that is longer than the MTU of its port, without an error. */
public suspend fun AsyncQueuePair<DatagramVerbs>.send(
    local: MemorySlice,
    to: Destination,
): Unit = sends.await(SEND, local, local.pin, 0, 0, 0, to)

/** Sends a datagram of no bytes. */
public suspend fun AsyncQueuePair<DatagramVerbs>.sendEmpty(to: Destination): Unit =
    sends.await(SEND, null, null, 0, 0, 0, to)

/** Sends a datagram with 32 bits that arrive with it. */
public suspend fun AsyncQueuePair<DatagramVerbs>.sendWithImmediate(
    local: MemorySlice,
    to: Destination,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, local, local.pin, 0, 0, immediate, to)

/** Sends a datagram of no bytes with 32 bits that arrive with it. */
public suspend fun AsyncQueuePair<DatagramVerbs>.sendWithImmediate(
    to: Destination,
    immediate: Int,
): Unit = sends.await(SEND_WITH_IMMEDIATE, null, null, 0, 0, immediate, to)

/** Writes into the peer's memory, which doesn't notice. */
public suspend fun AsyncQueuePair<WriteVerbs>.write(
    local: MemorySlice,
    to: RemoteMemory,
    offset: Long = 0,
): Unit = sends.await(WRITE, local, local.pin, to.address(offset, local.length()), to.rkey(), 0, null)

/** Writes no bytes: on RC its return says that the peer's device answers and that the writes before it have arrived. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeEmpty(
    to: RemoteMemory,
    offset: Long = 0,
): Unit = sends.await(WRITE, null, null, to.address(offset, 0), to.rkey(), 0, null)

/** Writes into the peer's memory and completes its next receive with 32 bits. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeWithImmediate(
    local: MemorySlice,
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
): Unit =
    sends.await(WRITE_WITH_IMMEDIATE, local, local.pin, to.address(offset, local.length()), to.rkey(), immediate, null)

/** Writes no bytes and completes the peer's next receive with 32 bits. */
public suspend fun AsyncQueuePair<WriteVerbs>.writeWithImmediate(
    to: RemoteMemory,
    immediate: Int,
    offset: Long = 0,
): Unit = sends.await(WRITE_WITH_IMMEDIATE, null, null, to.address(offset, 0), to.rkey(), immediate, null)

/** Reads the peer's memory, which doesn't notice. */
public suspend fun AsyncQueuePair<ReadVerbs>.read(
    from: RemoteMemory,
    into: MemorySlice,
    offset: Long = 0,
): Unit = sends.await(READ, into, into.pin, from.address(offset, into.length()), from.rkey(), 0, null)

/**
 * If the peer's 8 bytes, aligned to 8, equal [compare] they become [swap].
 *
 * @return what stood there before, in this machine's byte order
 */
public suspend fun AsyncQueuePair<ReadVerbs>.compareAndSwap(
    on: RemoteMemory,
    compare: Long,
    swap: Long,
    offset: Long = 0,
): Long =
    sends.awaitResult(COMPARE_AND_SWAP) { requests, id ->
        requests.compareAndSwap(id, on.address(offset, 8), on.rkey(), compare, swap)
    }

/**
 * Adds to the peer's 8 bytes, aligned to 8.
 *
 * @return what stood there before, in this machine's byte order
 */
public suspend fun AsyncQueuePair<ReadVerbs>.fetchAndAdd(
    on: RemoteMemory,
    add: Long,
    offset: Long = 0,
): Long =
    sends.awaitResult(FETCH_AND_ADD) { requests, id ->
        requests.fetchAndAdd(id, on.address(offset, 8), on.rkey(), add)
    }

/**
 * Posts what the block says in one call, and returns when all of it has completed:
 * `qp.batch { write(a, to = remote); write(b, to = remote, offset = 64) }`.
 * Only the last request makes a completion, so that a batch costs one wake-up. It fails as the first of its requests
 * that failed.
 *
 * @throws org.kverbs.WorkRequestException if the device refuses a request. Those before it are under way; their room is
 *     free again, and their buffers are, when a later request has completed
 */
public suspend fun <V : Verbs> AsyncQueuePair<V>.batch(block: SendScope<V>.() -> Unit): Unit =
    sends.awaitAll { typed.compose(it, block) }

/** Posts a receive, suspends until a message has come, and copies it [into] the memory. */
public suspend fun AsyncQueuePair<Verbs>.receive(into: MemorySlice): Received = receives.await(into, into.pin)

/** The same into a pooled buffer, all of it. */
public suspend fun AsyncQueuePair<Verbs>.receive(into: RegisteredBuffer): Received = receives.await(into.all(), into)

/**
 * Posts a receive whose message is awaited later, by a caller that must be ready before the peer sends:
 * `val answer = qp.postReceive(into); qp.send(question); answer.await()`. It belongs to the queue pair, not to a scope.
 *
 * The message comes straight [into] the memory, without a copy: so this receive gets the message of its own request and
 * no other, also when the receive before it was cancelled. Cancelled, it leaves its message to the oldest caller of
 * `receive`, or to the next receive.
 *
 * @throws IllegalStateException if the receive queue is full, which is not waited for here
 * @throws org.kverbs.WorkRequestException if the device refuses it
 */
public fun AsyncQueuePair<Verbs>.postReceive(into: MemorySlice): Deferred<Received> = receives.post(into, into.pin)

/** The same into a pooled buffer, all of it. */
public fun AsyncQueuePair<Verbs>.postReceive(into: RegisteredBuffer): Deferred<Received> =
    receives.post(into.all(), into)

private fun RemoteMemory.address(
    offset: Long,
    length: Long,
): Long {
    if (offset < 0 || length > length() - offset) {
        throw IndexOutOfBoundsException("$length bytes at $offset reach beyond the remote memory of ${length()} bytes")
    }
    return address() + offset
}
