package org.kverbs.dsl

import org.kverbs.CompletionQueueAttributes
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.RateLimit

// Attributes for calls that no builder makes, above all those of the modules for drivers.

/**
 * Builds the attributes of a queue pair for a call that takes them:
 * `mlx5.dct(pd, queuePairAttributes { cq(cq); srq(srq) }, key)`.
 * The type is [QueuePairType.DRIVER], unless the block names another one.
 *
 * @throws IllegalArgumentException if a required part is missing or two parts exclude each other; the message names
 *   them
 */
public fun queuePairAttributes(block: QueuePairBuilder.() -> Unit): QueuePairInitAttributes =
    QueuePairBuilder()
        .apply { type(QueuePairType.DRIVER) }
        .apply(block)
        .build()

/**
 * Builds the attributes of a completion queue for a call that takes them:
 * `mlx5.completionQueue(completionQueueAttributes { entries(1024) }, CqeOptions.NONE.ofSize(128))`.
 */
public fun completionQueueAttributes(block: CompletionQueueBuilder.() -> Unit): CompletionQueueAttributes =
    CompletionQueueBuilder().apply(block).build()

/**
 * Limits the rate of sending: `qp.limitRate(kbps = 1_000_000)` (ibv_modify_qp_rate_limit); errors as
 * [QueuePair.limitRate] and [RateLimit].
 *
 * @param kbps the highest rate in kilobits a second; 0 ends the limit
 * @param maxBurst the longest burst in bytes; default the device's own
 * @param typicalPacket the usual size of the packets in bytes; default the MTU of the port
 */
public fun QueuePair.limitRate(
    kbps: Long,
    maxBurst: Long = 0,
    typicalPacket: Int = 0,
): Unit = limitRate(RateLimit(kbps, maxBurst, typicalPacket))
