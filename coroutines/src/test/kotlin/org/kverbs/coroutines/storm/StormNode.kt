package org.kverbs.coroutines.storm

import org.kverbs.Device
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.BufferPool
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.qp
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs

/** An open device of the storm, with one completion queue and one pool of buffers for all. */
class StormNode(
    val device: Device,
) {
    val context = device.open()
    val dispatcher: CompletionDispatcher = context.completionDispatcher { queueEntries(ENTRIES) }
    val pd: ProtectionDomain = context.protectionDomain()
    val pool: BufferPool =
        pd.bufferPool {
            maxBytes(POOL)
            slabSize(1.MiB)
            minBufferSize(BUFFER)
            maxBufferSize(BUFFER)
        }

    /** Creates one end of a link. */
    fun end(slots: Int): StormEnd {
        val region = pd.memoryRegion(StormEnd.SLOTS + slots * StormEnd.SLOT, *StormEnd.ACCESS)
        for (slot in 0 until slots) {
            StormPaint.put(
                region.memory().asSlice(StormEnd.at(slot), StormEnd.SLOT),
                StormEnd.NOBODY,
            )
        }
        val qp: AsyncQueuePair<RcVerbs> =
            dispatcher.qp(pd, RC) {
                maxSendWr(StormEnd.SENDS)
                maxRecvWr(StormEnd.RECEIVES)
            }
        return StormEnd(this, qp, region)
    }

    companion object {
        const val ENTRIES = 1 shl 16

        /** The length of every buffer: that of the longest message. */
        const val BUFFER = 2048L

        /** Far fewer buffers than coroutines. */
        val POOL = 8.MiB
    }
}
