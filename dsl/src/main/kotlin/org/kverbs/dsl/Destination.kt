package org.kverbs.dsl

import org.kverbs.AddressHandle

/**
 * Where a datagram goes: the path, the queue pair there and its key. Make it once and use it often. Closing it closes
 * the address handle; so does closing the protection domain.
 */
public class Destination(
    /** The path to the port. */
    public val address: AddressHandle,
    /** The number of the queue pair there, 24 bits. */
    public val queuePairNumber: Int,
    /** The key that it expects; with the top bit set the sender's own is sent instead. */
    public val qkey: Int,
) : AutoCloseable by address
