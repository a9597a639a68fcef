package org.kverbs.benchmarks.bench

import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType

/** Sends and receives of an RC connection between two devices, or between a device and itself; both ends poll. */
internal class VerbsExchange(
    near: Device,
    far: Device,
) : PolledExchange() {
    override val near = End(near.open())
    override val far = End(far.open())

    init {
        this.near.qp.connect(this.far.qp.endpoint(PATIENT), PATIENT)
        this.far.qp.connect(this.near.qp.endpoint(PATIENT), PATIENT)
        this.near.fillReceives()
        this.far.fillReceives()
    }

    override fun close() {
        near.context.close()
        far.context.close()
    }

    /** One end. */
    class End(
        val context: Context,
    ) : PolledEnd() {
        private val pd = context.protectionDomain()
        private val sendCq = context.completionQueue(SENDS)
        private val receiveCq = context.completionQueue(RECEIVES)
        val qp: QueuePair =
            pd.queuePair(
                QueuePairInitAttributes(
                    QueuePairType.RC,
                    sendCq,
                    receiveCq,
                    null,
                    QueuePairCapabilities(SENDS, RECEIVES, 1, 1, 0),
                    false,
                ),
            )
        private val outgoing = pd.memoryRegion(Exchange.LONGEST.toLong(), AccessFlag.LOCAL_WRITE)
        private val incoming = pd.memoryRegion(Exchange.LONGEST.toLong(), AccessFlag.LOCAL_WRITE)
        private val room = incoming.slice(0, Exchange.LONGEST.toLong())
        private val request = SendRequests()
        private var size = 0
        private val completions = WorkCompletions(BATCH)

        /** All messages arrive in the same memory: what they cost is measured, not what they say. */
        override fun fillReceives() = repeat(RECEIVES) { qp.postReceive(0, room) }

        override fun post(bytes: Int) {
            if (size != bytes) {
                size = bytes
                request.clear()
                request.send(1).from(outgoing.slice(0, bytes.toLong())).signaled()
            }
            qp.post(request)
        }

        override fun take(
            forSends: Boolean,
            forReceives: Boolean,
        ) = (if (forSends) pollSends() else 0) + if (forReceives) pollReceives() else 0

        private fun pollSends() = poll(sendCq).also { sent += it }

        private fun pollReceives(): Int {
            val found = poll(receiveCq)
            repeat(found) { qp.postReceive(0, room) }
            received += found
            return found
        }

        private fun poll(queue: CompletionQueue): Int {
            val found = queue.poll(completions)
            for (i in 0..<found) completions.get(i).orThrow()
            return found
        }
    }

    private companion object {
        /** The timeout code for a second: no packet is lost here, but a thread may wait for a processor. */
        val PATIENT: ConnectOptions = ConnectOptions.builder().timeout(18).build()
    }
}
