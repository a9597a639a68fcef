package org.kverbs.ibtool

import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import kotlin.time.Duration

/** A transport that loses the requests of one management class, to some LIDs. */
internal class Silent(
    private val inner: MadTransport,
    private val managementClass: Int,
    private val isLost: (lid: Int) -> Boolean = { true },
) : MadTransport by inner {
    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        if (!isLost(mad, path)) inner.send(mad, path)
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ) {
        if (!isLost(mad, path)) inner.send(mad, path, patience)
    }

    private fun isLost(
        mad: ByteArray,
        path: MadPath,
    ) = path is LidPath && MADHeader.at(mad).mgmtClass.value == managementClass && isLost(path.destination.value)

    companion object {
        /** The class of counters. */
        const val PERFORMANCE = 4
    }
}

/** A transport that changes the answers for one attribute. */
internal class Changed(
    private val inner: MadTransport,
    private val attribute: Int?,
    private val change: (mad: ByteArray) -> Unit,
) : MadTransport by inner {
    override fun receive(receiver: MadReceiver) =
        inner.receive(
            object : MadReceiver by receiver {
                override fun received(
                    mad: ByteArray,
                    back: MadPath?,
                ) {
                    if (MADHeader.at(mad).attributeID == attribute) change(mad)
                    receiver.received(mad, back)
                }
            },
        )

    companion object {
        /** Where the data of an answer about a subnet begin. */
        const val DATA = 64
    }
}
