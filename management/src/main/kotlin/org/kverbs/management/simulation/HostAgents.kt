package org.kverbs.management.simulation

import org.kverbs.management.structures.OpenIBHostInfo

private const val AT = 40
private const val OUI_AT = 36
private const val OUI_BITS = 0xffffff
private const val OPENIB = 0x001405

/** What the classes of OpenIB have in common: a vendor, and texts as answers. */
internal abstract class OpenIbAgent(
    private val network: Network,
) : NodeAgent {
    override val classVersion get() = 1

    override fun isOwn(mad: ByteArray) = Wire.u32(mad, OUI_AT) and OUI_BITS == OPENIB

    override fun serve(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int =
        when {
            isSet -> Mads.ATTRIBUTE_UNSUPPORTED
            else -> get(port, Mads.attribute(mad), mad)
        }

    protected abstract fun get(
        port: Int,
        attribute: Int,
        mad: ByteArray,
    ): Int

    protected fun name(port: Int) = network.topology.specOf(port).description

    protected fun text(
        mad: ByteArray,
        text: String,
    ): Int {
        mad.fill(0, AT, mad.size)
        // The last byte ends the text.
        val bytes = text.encodeToByteArray()
        bytes.copyInto(mad, AT, 0, minOf(bytes.size, OpenIBHostInfo.byteSize - 1))
        return 0
    }
}

/** The server of `ibping`: its answer is the name of the node. */
internal class PingAgent(
    network: Network,
) : OpenIbAgent(network) {
    override fun get(
        port: Int,
        attribute: Int,
        mad: ByteArray,
    ) = if (attribute == 0) text(mad, name(port)) else Mads.ATTRIBUTE_UNSUPPORTED
}

/** The server of `ibsysstat`. Each node has one processor. */
internal class SystemAgent(
    network: Network,
) : OpenIbAgent(network) {
    override fun get(
        port: Int,
        attribute: Int,
        mad: ByteArray,
    ) = when (attribute) {
        // The data of a ping come back.
        PING -> 0

        HOST -> text(mad, name(port))

        PROCESSORS -> text(mad, "cpu 0: model simulated MHZ 1000.000\n")

        else -> Mads.ATTRIBUTE_UNSUPPORTED
    }

    private companion object {
        const val PING = 0x10
        const val HOST = 0x11
        const val PROCESSORS = 0x12
    }
}
