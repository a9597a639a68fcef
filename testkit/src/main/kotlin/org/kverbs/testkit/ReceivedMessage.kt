package org.kverbs.testkit

import org.kverbs.WorkCompletion

/**
 * Holds a message that [TestPeer.awaitReceive] got, or the failure of its receive.
 *
 * @property completion a copy of the receive's completion
 * @property bytes a copy of the message as it arrived, in its order on the wire; empty if the receive failed, and for a
 *     write with immediate, whose bytes lie in the memory that the peer named
 */
public class ReceivedMessage(
    public val completion: WorkCompletion,
    public val bytes: ByteArray,
) {
    /** The bytes as UTF-8. */
    public val text: String get() = bytes.decodeToString()

    /** Returns the completion and the number of bytes. */
    override fun toString(): String = "$completion with ${bytes.size} bytes"
}
