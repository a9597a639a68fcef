package org.kverbs.ibtool

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport

private const val CLASS_AT = 1
private const val RESPONSE = 0x81
private const val METHOD_AT = 3
private const val DIRECTED = 0x81
private const val DIRECTION = 0x8000
private const val REFUSED = 0x0c

/** A fabric whose nodes answer one attribute of a class with an error. */
internal class Refusing(
    private val inner: MadTransport,
    private val mgmtClass: Int,
    private val attribute: Int?,
) : MadTransport by inner {
    override fun receive(receiver: MadReceiver) =
        inner.receive(
            object : MadReceiver by receiver {
                override fun received(
                    mad: ByteArray,
                    back: MadPath?,
                ) {
                    val header = MADHeader.at(mad)
                    val isAsked = mad[CLASS_AT].toInt() and 0xff == mgmtClass && header.attributeID == attribute
                    if (isAsked && mad[METHOD_AT].toInt() and 0xff == RESPONSE) {
                        header.status = if (mgmtClass == DIRECTED) DIRECTION or REFUSED else REFUSED
                    }
                    receiver.received(mad, back)
                }
            },
        )
}
