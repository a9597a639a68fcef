package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.XrcDomain
import org.kverbs.XrcReceiveQueuePair
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.dsl.SharedQueueVerbs
import org.kverbs.dsl.SharedReceiveQueueBuilder
import org.kverbs.dsl.connect
import org.kverbs.dsl.srq
import java.nio.channels.SocketChannel

/**
 * Creates a shared receive queue of XRC whose completions this dispatcher takes:
 * `dispatcher.srq(pd, domain) { maxWr(64) }`.
 * The peers' operations name it by [AsyncReceiveQueue.remote], and reach it through every receiving queue pair of the
 * domain. [Received.queuePairNumber] is the number of the receiving queue pair, which tells the sender.
 *
 * The dispatcher supplies the completion queue. Closing the domain, the protection domain or the dispatcher closes the
 * queue.
 *
 * @throws IllegalArgumentException if the block calls `xrc` or `tags`, if a domain belongs to another context, or if
 *   [pd] has a thread domain
 * @throws org.kverbs.UnsupportedVerbException if the device has no XRC
 * @throws org.kverbs.RdmaSystemException if the device refuses the queue
 */
public fun CompletionDispatcher.srq(
    pd: ProtectionDomain,
    domain: XrcDomain,
    block: SharedReceiveQueueBuilder.() -> Unit = {},
): AsyncReceiveQueue {
    requireDispatchable(pd)
    var room: PolledQueue? = null
    var capacity = 0
    val queue =
        try {
            pd.srq {
                xrc(domain) { receives ->
                    capacity = receives
                    reserve(receives).also { room = it }.cq
                }
                block()
            }
        } catch (e: Throwable) {
            room?.giveBack(capacity)
            throw e
        }
    return queue.closedOnFailure {
        val polled = requireNotNull(room) { "leave out xrc and tags: the dispatcher supplies the completion queue" }
        receiveQueue(pd, queue, polled, capacity)
    }
}

/** Connects to the endpoint of a peer's [XrcReceiveQueuePair]; errors as [org.kverbs.QueuePair.connect]. */
public fun AsyncQueuePair<SharedQueueVerbs>.connect(
    remote: QueuePairEndpoint,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): Unit = typed.connect(remote, options)

/**
 * Connects to the [XrcReceiveQueuePair] at the other end of a TCP connection, where `connectOver` is called on it. The
 * note of the other end can tell the numbers of its queues: [AsyncReceiveQueue.remote]. Otherwise as `connectOver` of
 * an RC queue pair.
 */
public suspend fun AsyncQueuePair<SharedQueueVerbs>.connectOver(
    socket: SocketChannel,
    note: String = "",
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): String = exchangeOver(socket, note, endpoint(options)) { connect(it, options) }

/**
 * Connects to the XRC_SEND queue pair at the other end of a TCP connection, where `connectOver` is called on it, too.
 * Otherwise as `connectOver` of an RC queue pair.
 *
 * @param prepared posts the first receives of the queues; runs when this end can take messages and the other end cannot
 *   send yet
 */
public suspend fun XrcReceiveQueuePair.connectOver(
    socket: SocketChannel,
    note: String = "",
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    prepared: () -> Unit = {},
): String =
    exchangeOver(socket, note, endpoint(options)) {
        connect(it, options)
        prepared()
    }
