package org.kverbs.ibtool.services

import org.kverbs.ibtool.session.number

/** The OUI of OpenIB, whose classes `ibping` and `ibsysstat` use. */
internal const val OPENIB = 0x001405

private const val MOST = 0xffffffL

/** Reads the OUI of a vendor. */
internal fun vendor(text: String): Int {
    val number = number(text)
    require(number in 0..MOST) { "an OUI has 24 bits, unlike $text" }
    return number.toInt()
}
