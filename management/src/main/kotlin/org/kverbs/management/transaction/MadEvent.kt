package org.kverbs.management.transaction

/**
 * What happened to a datagram.
 *
 * @property kind what happened
 * @property mad the datagram; it must not be changed
 */
public class MadEvent internal constructor(
    public val kind: MadEventKind,
    public val mad: ByteArray,
) {
    /** Returns a line such as `SENT MAD_METHOD_GET(1) SMPFormat(1.1) SMPNodeInfo(17) TID 0x1a2b3c4d`. */
    override fun toString(): String =
        if (kind == MadEventKind.MALFORMED) {
            "$kind ${mad.size} bytes"
        } else {
            "$kind ${MadText.of(mad)} TID 0x${MadFields.transaction(mad).toUInt().toString(16).padStart(8, '0')}"
        }

    /** Returns the line of [toString], and below it the decoded header and attribute, a line for four bytes. */
    public fun dump(): String =
        if (kind ==
            MadEventKind.MALFORMED
        ) {
            "$this"
        } else {
            (listOf("$this") + MadText.decoded(mad).drop(1)).joinToString("\n")
        }
}
