package org.kverbs.embedded

import org.kverbs.Device
import org.kverbs.SendRequests
import org.kverbs.WorkCompletions
import org.kverbs.attributes.QueuePairType

/**
 * Two ends on UDP devices of the loopback network that share only the wire, as those of two processes, and requests
 * between them.
 */
internal class UdpPair(
    bytes: Long = 4096,
) : AutoCloseable {
    // Both words of one configuration give different addresses. Each end uses only one of the two devices, so that the
    // engines differ.
    private val devices =
        List(
            2,
        ) { Configuration.of("udp,udp").devices()[it] }.map { Device.of(EmbeddedProvider(), it) }
    val near = End(devices[0], QueuePairType.RC, bytes)
    val far = End(devices[1], QueuePairType.RC, bytes)
    private val batch = WorkCompletions(16)

    init {
        near.qp.connect(far.qp.endpoint())
        far.qp.connect(near.qp.endpoint())
    }

    val read: SendRequests = SendRequests().read(1, far.mr.remote()).into(near.mr.slice(0, 8)).signaled()
    val write: SendRequests = SendRequests().write(1, far.mr.remote()).from(near.mr.slice(0, 8)).signaled()

    /** Returns the median time of a request in nanoseconds, with requests one after the other and busy polling. */
    fun median(
        count: Int,
        request: SendRequests,
    ): Long {
        val times =
            LongArray(count) {
                val begin = System.nanoTime()
                near.qp.post(request)
                while (near.cq.poll(batch) == 0) Thread.onSpinWait()
                batch.get(0).orThrow()
                System.nanoTime() - begin
            }
        return times.sorted()[count / 2]
    }

    override fun close() {
        near.close()
        far.close()
    }
}
