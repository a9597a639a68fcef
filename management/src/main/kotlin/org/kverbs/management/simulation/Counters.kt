package org.kverbs.management.simulation

import org.kverbs.management.structures.PortCountersExtended

/** Counters of ports, made for a port when it first counts. */
internal class Counters(
    topology: Topology,
) {
    private val images = arrayOfNulls<ByteArray>(topology.ports)

    /** The counters of a port: PortCountersExtended, and behind it the four that PortCounters counts by itself. */
    fun image(port: Int): ByteArray = images[port] ?: ByteArray(SIZE).also { images[port] = it }

    fun known(port: Int): ByteArray? = images[port]

    fun add(
        port: Int,
        counter: Int,
    ) = add(image(port), counter, 1)

    /** A datagram went from one port to the next. */
    fun crossed(
        from: Int,
        to: Int,
    ) {
        val sender = image(from)
        add(sender, XMIT_DATA, WORDS)
        add(sender, XMIT_PACKETS, 1)
        add(sender, SHORT_XMIT_DATA, WORDS)
        add(sender, SHORT_XMIT_PACKETS, 1)
        val receiver = image(to)
        add(receiver, RCV_DATA, WORDS)
        add(receiver, RCV_PACKETS, 1)
        add(receiver, SHORT_RCV_DATA, WORDS)
        add(receiver, SHORT_RCV_PACKETS, 1)
    }

    private fun add(
        image: ByteArray,
        counter: Int,
        amount: Long,
    ) {
        val sum = Wire.u64(image, counter) + amount
        // They stop at the highest value.
        Wire.put64(image, counter, if (sum == 0L) -1 else sum)
    }

    companion object {
        private const val EXTENDED = 184
        private const val SIZE = EXTENDED + 4 * Long.SIZE_BYTES

        /** A MAD with all headers, in words of four bytes. */
        private const val WORDS = 72L
        const val XMIT_DATA = 8
        const val RCV_DATA = 16
        const val XMIT_PACKETS = 24
        const val RCV_PACKETS = 32
        const val LINK_DOWNED = 88
        const val RCV_ERRORS = 96
        const val SWITCH_RELAY_ERRORS = 112
        const val XMIT_DISCARDS = 120
        const val SHORT_XMIT_DATA = EXTENDED
        const val SHORT_RCV_DATA = EXTENDED + 8
        const val SHORT_XMIT_PACKETS = EXTENDED + 16
        const val SHORT_RCV_PACKETS = EXTENDED + 24

        /** The part of an image that a user can read and write. */
        fun view(image: ByteArray): PortCountersExtended = PortCountersExtended.at(image)
    }
}
