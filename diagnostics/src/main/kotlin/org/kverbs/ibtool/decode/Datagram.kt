package org.kverbs.ibtool.decode

/**
 * A management datagram of a file.
 *
 * @property mad the bytes, 24 to 256
 * @property place where it is: `line 3`, or the packet's number with its time and addresses
 */
internal class Datagram(
    val mad: ByteArray,
    val place: String,
)
