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
) : Exchange {
    private val near = End(near.open())
    private val far = End(far.open())

    init {
        this.near.qp.connect(this.far.qp.endpoint(PATIENT), PATIENT)
        this.far.qp.connect(this.near.qp.endpoint(PATIENT), PATIENT)
        this.near.fillReceives()
        this.far.fillReceives()
    }

    override fun ask(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        near.post(bytes)
        near.await(sends = 1, receives = 1)
    }

    override fun answer(
        bytes: Int,
        count: Int,
    ) = repeat(count) {
        far.await(sends = 0, receives = 1)
        far.post(bytes)
        far.await(sends = 1, receives = 0)
    }

    override fun send(
        bytes: Int,
        count: Int,
    ) {
        var posted = 0
        var done = 0
        while (done < count) {
            while (posted < count && posted - done < SENDS) {
                near.post(bytes)
                posted++
            }
            near.await(sends = 1, receives = 0)
            done++
        }
    }

    override fun receive(
        bytes: Int,
        count: Int,
    ) = far.await(sends = 0, receives = count)

    override fun close() {
        near.context.close()
        far.context.close()
    }

    /** One end, for one thread. */
    private class End(
        val context: Context,
    ) {
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
        private val turns = Turns()
        private var sent = 0
        private var received = 0

        /** All messages arrive in the same memory: what they cost is measured, not what they say. */
        fun fillReceives() = repeat(RECEIVES) { qp.postReceive(0, room) }

        fun post(bytes: Int) {
            if (size != bytes) {
                size = bytes
                request.clear()
                request.send(1).from(outgoing.slice(0, bytes.toLong())).signaled()
            }
            qp.post(request)
        }

        /** Waits for so many completions, and keeps those that are more for the next call. */
        fun await(
            sends: Int,
            receives: Int,
        ) {
            turns.reset()
            while (sent < sends || received < receives) {
                val found = (if (sent < sends) pollSends() else 0) + if (received < receives) pollReceives() else 0
                if (found > 0) turns.reset() else turns.pause()
            }
            sent -= sends
            received -= receives
        }

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
        const val SENDS = 16

        /** Enough for a receiver that gets no processor for a while. */
        const val RECEIVES = 256
        const val BATCH = 16

        /** The timeout code for a second: no packet is lost here, but a thread may wait for a processor. */
        val PATIENT: ConnectOptions = ConnectOptions.builder().timeout(18).build()
    }
}
