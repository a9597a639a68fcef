package org.kverbs.dsl

import org.kverbs.CompletionQueue
import org.kverbs.Context

/**
 * Makes a completion queue: `device.completionQueue { entries(1024); channel(channel) }` (ibv_create_cq).
 *
 * @throws org.kverbs.RdmaSystemException if the device refuses; for ENOMEM the message names the memlock limit
 */
public fun Context.completionQueue(block: CompletionQueueBuilder.() -> Unit): CompletionQueue =
    completionQueue(CompletionQueueBuilder().apply(block).build())
