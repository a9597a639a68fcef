package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.XrcReceiveQueuePair
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.dsl.QueuePairSettings
import org.kverbs.dsl.SharedReceiveQueueBuilder
import org.kverbs.dsl.XRC_SEND
import org.kverbs.dsl.XrcVerbs
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** Sending ends and receive queues of XRC on one embedded device, with 64 KiB of memory. */
class XrcBench : AutoCloseable {
    val device: Context = openDevice("embedded0")
    val pd = device.protectionDomain()
    val dispatcher = device.completionDispatcher()
    val domain = device.xrcDomain()
    val region: MemoryRegion =
        pd.memoryRegion(65536) { access(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC) }

    /** A queue of the domain that receives messages of up to 64 bytes. */
    fun queue(settings: SharedReceiveQueueBuilder.() -> Unit = { maxWr(16) }) = dispatcher.srq(pd, domain, settings)

    /** A sending end, and the receiving queue pair that it is connected to. */
    fun sender(settings: QueuePairSettings.() -> Unit = {}): Pair<AsyncQueuePair<XrcVerbs>, XrcReceiveQueuePair> {
        val sender = dispatcher.qp(pd, XRC_SEND, block = settings)
        val receiver = domain.queuePair()
        sender.connect(receiver.endpoint())
        receiver.connect(sender.endpoint())
        return sender to receiver
    }

    fun text(
        text: String,
        at: Long = 0,
    ): MemorySlice =
        region[at, text.length.toLong()].also {
            it.memory().copyFrom(MemorySegment.ofArray(text.encodeToByteArray()))
        }

    fun textAt(
        at: Long,
        length: Long,
    ) = String(region.memory().asSlice(at, length).toArray(JAVA_BYTE))

    override fun close() = device.close()
}
