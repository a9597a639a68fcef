package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.MemoryRegion
import org.kverbs.attributes.AccessFlag.FLUSH_GLOBAL
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.dsl.QueuePairSettings
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** Two connected queue pairs on one embedded device, with a dispatcher and 64 KiB of memory each. */
class TwoEnds(
    settings: QueuePairSettings.() -> Unit = {},
    dispatcher: CompletionDispatcherBuilder.() -> Unit = {},
) : AutoCloseable {
    val device: Context = openDevice("embedded0")
    private val pd = device.protectionDomain()
    val client = End(dispatcher, settings)
    val server = End(dispatcher, settings)

    init {
        client.qp.connect(server.qp.endpoint())
        server.qp.connect(client.qp.endpoint())
    }

    override fun close() = device.close()

    inner class End(
        builder: CompletionDispatcherBuilder.() -> Unit,
        settings: QueuePairSettings.() -> Unit,
    ) {
        val dispatcher = device.completionDispatcher(builder)
        val qp: AsyncQueuePair<RcVerbs> = dispatcher.qp(pd, RC, block = settings)
        val region: MemoryRegion =
            pd.memoryRegion(
                65536,
            ) { access(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, FLUSH_GLOBAL) }
        val pd get() = this@TwoEnds.pd

        fun text(
            text: String,
            at: Long = 0,
        ) = region[at, text.length.toLong()].also {
            it.memory().copyFrom(
                java.lang.foreign.MemorySegment.ofArray(text.encodeToByteArray()),
            )
        }

        fun textAt(
            at: Long,
            length: Long,
        ) = String(region.memory().asSlice(at, length).toArray(JAVA_BYTE))
    }
}
