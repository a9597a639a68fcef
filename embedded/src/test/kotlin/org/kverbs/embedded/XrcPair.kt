package org.kverbs.embedded

import org.kverbs.CompletionQueue
import org.kverbs.MemoryRegion
import org.kverbs.SharedReceiveQueue
import org.kverbs.XrcDomain
import org.kverbs.XrcReceiveQueuePair
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes

/** A sending end on one device of a fabric, connected with a domain on another, which has one queue. */
internal class XrcPair(
    val fabric: EmbeddedFabric,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    bytes: Long = 1 shl 16,
) : AutoCloseable {
    val a = End(fabric.addDevice(), QueuePairType.XRC_SEND, bytes)
    val context = fabric.addDevice().open()
    private val pd = context.protectionDomain()
    val cq: CompletionQueue = context.completionQueue(1024)
    val mr: MemoryRegion =
        pd.memoryRegion(
            bytes,
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC,
        )
    val domain: XrcDomain = context.xrcDomain()
    val srq: SharedReceiveQueue = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(256, 2), domain, cq)
    val number: Int = srq.number()
    val receiver: XrcReceiveQueuePair = domain.queuePair()

    init {
        a.qp.connect(receiver.endpoint(options), options)
        receiver.connect(a.qp.endpoint(options), options)
    }

    override fun close() {
        a.close()
        context.close()
        fabric.close()
    }
}
