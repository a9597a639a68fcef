package org.kverbs.ibtool.session

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.transport.MadTransport
import kotlin.time.Duration

/** A transport at which somebody presses Ctrl-C when a datagram of a management class is sent. */
internal class Pressing(
    private val inner: MadTransport,
    private val interrupt: Interrupt,
    private val times: Map<Int, Set<Int>>,
) : MadTransport by inner {
    private val sent = HashMap<Int, Int>()

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        press(mad)
        inner.send(mad, path)
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ) {
        press(mad)
        inner.send(mad, path, patience)
    }

    private fun press(mad: ByteArray) {
        val managementClass = MADHeader.at(mad).mgmtClass.value
        val number = synchronized(sent) { sent.merge(managementClass, 1, Int::plus) }
        if (number in times[managementClass].orEmpty()) interrupt.press()
    }

    companion object {
        /** The class of directed requests. */
        const val DIRECTED = 0x81

        /** The class of counters. */
        const val PERFORMANCE = 4
    }
}
