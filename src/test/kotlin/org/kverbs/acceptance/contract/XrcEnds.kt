package org.kverbs.acceptance.contract

import org.kverbs.CompletionQueue
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.SharedReceiveQueue
import org.kverbs.XrcDomain
import org.kverbs.XrcReceiveQueuePair
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes

/** A shared receive queue that messages name, with its completion queue and a region for receives and for the peer. */
internal class NamedQueue(
    val srq: SharedReceiveQueue,
    val cq: CompletionQueue,
    val mr: MemoryRegion,
) {
    val number: Int = srq.number()

    /** Posts a receive for [length] bytes at [offset]. */
    fun receive(
        id: Long,
        offset: Long = 0,
        length: Long = 4096,
    ) = srq.postReceive(id, mr.slice(offset, length))
}

/** Makes a queue in a domain, with its memory in [domainOfMemory]. */
internal fun Bench.namedQueue(
    domain: XrcDomain,
    domainOfMemory: ProtectionDomain = pd,
    maxWr: Int = 16,
    cq: CompletionQueue = cq(),
): NamedQueue {
    val srq = domainOfMemory.sharedReceiveQueue(SharedReceiveQueueAttributes.of(maxWr, 2), domain, cq)
    return NamedQueue(srq, cq, domainOfMemory.memoryRegion(16_384, *everyAccess()))
}

/** Makes a sending end and connects it with a new receiving queue pair of a domain. */
internal fun Bench.sendingTo(
    domain: XrcDomain,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    end: End = end(QueuePairType.XRC_SEND),
): Pair<End, XrcReceiveQueuePair> {
    val receiver = domain.queuePair()
    end.qp.connect(receiver.endpoint(options), options)
    receiver.connect(end.qp.endpoint(options), options)
    return end to receiver
}
