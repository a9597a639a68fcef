package org.kverbs.dsl

import org.kverbs.AddressHandle

/**
 * A destination of datagrams: the path to a port, a queue pair there and its key. Make it once and use it for any
 * number of datagrams. Closing the destination closes its address handle; so does closing the protection domain.
 */
public class Destination(
    /** The path to the port. */
    public val address: AddressHandle,
    /** The number of the receiver's queue pair, 24 bits. */
    public val queuePairNumber: Int,
    /**
     * The Q_Key that the receiver's queue pair expects. With the top bit set, the device sends the sender's own Q_Key
     * instead.
     */
    public val qkey: Int,
) : AutoCloseable by address
