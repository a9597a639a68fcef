package org.kverbs.testkit

import org.kverbs.WorkCompletion

/**
 * A message that [TestPeer.awaitReceive] got, or the failure of its receive.
 *
 * @property completion the receive's completion, a copy
 * @property bytes a copy of the message as it arrived, in its order on the wire; empty if the receive failed, and for
 *   a write with immediate, whose bytes lie in the memory that the peer named
 */
public class ReceivedMessage(
    public val completion: WorkCompletion,
    public val bytes: ByteArray,
) {
    /** The bytes as UTF-8. */
    public val text: String get() = bytes.decodeToString()

    /** The completion, and how many bytes came. */
    override fun toString(): String = "$completion with ${bytes.size} bytes"
}
