package org.kverbs.management.transport

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.RMPPStatus

/**
 * Takes what a [MadTransport] receives. The transport calls it from one thread at a time, and waits for its return. An
 * exception goes to the thread's handler of uncaught exceptions, and the transport goes on.
 */
public interface MadReceiver {
    /**
     * A datagram arrived.
     *
     * @param mad its bytes, which are the receiver's. They are as the sender wrote them: nothing is checked.
     * @param back the path to the sender, or null if it came by a directed route
     */
    public fun received(
        mad: ByteArray,
        back: MadPath?,
    )

    /**
     * The fabric says that it lost a datagram of this port.
     *
     * @param mad the datagram, as it was sent
     */
    public fun undelivered(mad: ByteArray)

    /**
     * Says whether a long message is wanted of which a part has arrived. Each part asks; after the first "no" the
     * message is refused and forgotten.
     *
     * A simulated fabric asks for each request, too: after a "no" the node answers it as if no program was there.
     *
     * @param mad the part, with the header of the message, or the request
     * @param back the path to the sender
     */
    public fun isWanted(
        mad: ByteArray,
        back: MadPath,
    ): Boolean = true

    /**
     * A long message has got further: of one that arrives a new part is there, of one that is sent the peer has more.
     *
     * @param mad bytes with the header of the message
     */
    public fun progressed(mad: ByteArray) {}

    /**
     * A long message has ended before it was whole.
     *
     * @param mad bytes with the header of the message
     * @param status why, as the peer said or this side found
     */
    public fun failed(
        mad: ByteArray,
        status: RMPPStatus,
    ) {}

    /**
     * A packet of a long message was dropped, because no message that is under way has it.
     *
     * @param mad the packet
     */
    public fun ignored(mad: ByteArray) {}
}
