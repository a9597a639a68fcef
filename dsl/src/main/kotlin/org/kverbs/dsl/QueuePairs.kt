package org.kverbs.dsl

import org.kverbs.MemorySlice
import org.kverbs.QueuePair
import org.kverbs.SendRequests
import org.kverbs.SharedReceiveQueue
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.ConnectOptionsBuilder
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairAttributesBuilder
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.internal.Posting

/**
 * Changes attributes: `qp.modify { state(QueuePairState.RTS); sqPsn(0) }` (ibv_modify_qp); errors as
 * [QueuePair.modify].
 */
public fun QueuePair.modify(block: (@RdmaDsl QueuePairAttributesBuilder).() -> Unit): Unit =
    modify(QueuePairAttributes.builder().apply(block).build())

/** Connects with options: `qp.connect(remote) { gidIndex(1); timeout(18) }`; errors as [QueuePair.connect]. */
public fun QueuePair.connect(
    remote: QueuePairEndpoint,
    block: (@RdmaDsl ConnectOptionsBuilder).() -> Unit,
): Unit = connect(remote, connectOptions(block))

/**
 * Loads and arms an alternate path: `qp.armAlternatePath(remote) { gidIndex(0); timeout(14) }`; errors as
 * [QueuePair.armAlternatePath].
 */
public fun QueuePair.armAlternatePath(
    remote: QueuePairEndpoint,
    block: (@RdmaDsl ConnectOptionsBuilder).() -> Unit,
): Unit = armAlternatePath(remote, connectOptions(block))

/**
 * Makes connect options. [QueuePair.endpoint], [QueuePair.init] and [QueuePair.connect] of one side take the same
 * options.
 */
public fun connectOptions(block: (@RdmaDsl ConnectOptionsBuilder).() -> Unit): ConnectOptions =
    ConnectOptions.builder().apply(block).build()

/** Connects to a peer's queue pair; errors as [QueuePair.connect]. */
public fun TypedQueuePair<ConnectedVerbs>.connect(
    remote: QueuePairEndpoint,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): Unit = queuePair.connect(remote, options)

/** Loads and arms an alternate path to the peer; errors as [QueuePair.armAlternatePath]. */
public fun TypedQueuePair<ConnectedVerbs>.armAlternatePath(
    remote: QueuePairEndpoint,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): Unit = queuePair.armAlternatePath(remote, options)

/** Moves to the alternate path, if it is armed; errors as [QueuePair.migrate]. */
public fun TypedQueuePair<ConnectedVerbs>.migrate(): Unit = queuePair.migrate()

/** Makes a datagram queue pair ready to send and receive; errors as [QueuePair.activate]. */
public fun TypedQueuePair<DatagramVerbs>.activate(options: ConnectOptions = ConnectOptions.DEFAULTS): Unit =
    queuePair.activate(options)

/** Makes the destination of datagrams to a peer's queue pair. */
public fun TypedQueuePair<DatagramVerbs>.destination(
    remote: QueuePairEndpoint,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): Destination = Destination(queuePair.addressHandle(remote, options), remote.queuePairNumber(), remote.qkey())

/** Returns what a peer needs to connect or to send to this queue pair. */
public fun TypedQueuePair<Verbs>.endpoint(options: ConnectOptions = ConnectOptions.DEFAULTS): QueuePairEndpoint =
    queuePair.endpoint(options)

/** Posts a receive request; errors as [QueuePair.postReceive]. */
public fun TypedQueuePair<ReceiveVerbs>.postReceive(
    into: MemorySlice,
    id: Long = 0,
): Unit = queuePair.postReceive(id, into)

/** Posts a receive request; errors as [QueuePair.postReceive]. */
public fun QueuePair.postReceive(
    into: MemorySlice,
    id: Long = 0,
): Unit = postReceive(id, into)

/** Posts a receive request; errors as [SharedReceiveQueue.postReceive]. */
public fun SharedReceiveQueue.postReceive(
    into: MemorySlice,
    id: Long = 0,
): Unit = postReceive(id, into)

/**
 * Posts what the block says, in one call: `qp.post { write(local, to = remote.at(64)).signaled() }` (ibv_post_send).
 *
 * The block runs at once; posts of other threads to this queue pair wait until it ends. The block cannot suspend and
 * must not post to the same queue pair. If it throws, nothing is posted. After warm-up the post allocates nothing,
 * except that `bind` makes an array of its flags.
 *
 * @throws org.kverbs.WorkRequestException if the device refuses a request; ENOMEM stands for a full queue
 */
public inline fun <V : Verbs> TypedQueuePair<V>.post(crossinline block: SendScope<V>.() -> Unit) {
    queuePair.posting { SendScope<V>(it).block() }
}

/**
 * Posts the requests of the block in one call, on a queue pair whose type is not known at compile time. Every operation
 * compiles; the device refuses those that the type does not have.
 */
public inline fun QueuePair.post(crossinline block: SendScope<AnyVerbs>.() -> Unit) {
    posting { SendScope<AnyVerbs>(it).block() }
}

/**
 * Adds the requests of the block to a list: `qp.compose(list) { write(local, to = remote) }`. [QueuePair.post] posts
 * the list, any number of times. A list is for one thread at a time.
 */
public inline fun <V : Verbs> TypedQueuePair<V>.compose(
    requests: SendRequests,
    block: SendScope<V>.() -> Unit,
) {
    SendScope<V>(requests).block()
}

/** Lends a list of the queue pair's own to [write], then posts it; after an exception nothing is posted. */
@PublishedApi
internal inline fun QueuePair.posting(write: (SendRequests) -> Unit) {
    val requests = beginPost()
    var written = false
    try {
        write(requests)
        written = true
    } finally {
        if (!written) abandonPost(requests)
    }
    finishPost(requests)
}

@PublishedApi
internal fun QueuePair.beginPost(): SendRequests = lists().begin()

@PublishedApi
internal fun QueuePair.abandonPost(requests: SendRequests): Unit = lists().abandon(requests)

@PublishedApi
internal fun QueuePair.finishPost(requests: SendRequests): Unit = lists().finish(requests)

/** A queue pair lends lists of no other kind. */
@Suppress("UNCHECKED_CAST")
private fun QueuePair.lists() = Posting.DOOR.of(this) as Posting<SendRequests>
