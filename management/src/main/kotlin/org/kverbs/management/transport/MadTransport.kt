package org.kverbs.management.transport

import org.kverbs.management.path.MadPath
import kotlin.time.Duration

/**
 * Carries management datagrams (MADs) between a port and its fabric. It neither waits for answers nor repeats requests;
 * a `MadTransactor` does both on top of it.
 *
 * A transport can write the high 32 bits of a request's transaction id, to lead the answer back to its program. The low
 * 32 bits belong to the caller.
 *
 * A message is one datagram, or a long one: of a class that has an RMPP header, with the flag ACTIVE in it, and with
 * any number of bytes. Its header is the first datagram's, and all data follow. Where a transport does not carry long
 * messages itself, an `RmppTransport` does it over that transport.
 *
 * Threads: all functions can be called from any thread.
 */
public interface MadTransport : AutoCloseable {
    /** Whether the transport cuts long messages into datagrams, and joins them, by itself. */
    public val carriesLongMessages: Boolean get() = false

    /**
     * Returns what is known of the port now. The LID can change when a subnet manager comes or goes.
     *
     * @throws MadTransportException if the port does not tell
     */
    public fun port(): MadPort

    /**
     * Gives [receiver] what arrives from now on. Call it once, before the first [send].
     *
     * @throws IllegalStateException if there is a receiver already
     */
    public fun receive(receiver: MadReceiver)

    /**
     * Sends a datagram. The fabric can lose it.
     *
     * @param mad all [MAD_SIZE] bytes, or a long message if the transport carries them; the transport copies them. For
     *   a directed path the caller has written the hops to it.
     * @param path where the datagram goes
     * @throws MadTransportException if the transport cannot send at all
     * @throws IllegalStateException if the transport is closed
     */
    public fun send(
        mad: ByteArray,
        path: MadPath,
    )

    /**
     * Sends a request, whose sender waits for its answer for [patience]. A transport that holds a place for the answer
     * holds it so long. The other two are those of the function above.
     */
    public fun send(
        mad: ByteArray,
        path: MadPath,
        patience: Duration,
    ): Unit = send(mad, path)

    /**
     * Makes the requests of other ports arrive that [service] names, until the result is closed. A transport that has
     * its port for itself gets all of them anyway, and does nothing here.
     *
     * @throws MadTransportException if another program answers them
     * @throws IllegalStateException if the transport is closed
     */
    public fun serve(service: ServedClass): AutoCloseable = AutoCloseable {}

    /**
     * Leaves the fabric. A call of the receiver that is under way goes on; no other one begins once this has returned,
     * but for a datagram that had arrived before.
     */
    override fun close()
}

/** The length of a management datagram in bytes. */
public const val MAD_SIZE: Int = 256
