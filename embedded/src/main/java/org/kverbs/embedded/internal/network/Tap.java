package org.kverbs.embedded.internal.network;

import org.kverbs.embedded.internal.wire.Packet;

/**
 * Sees each packet that arrives at a device of a network, just before the device does. Called with the engine's lock
 * held: an implementation must return quickly and must not throw.
 */
public interface Tap {

    /** Sees an arriving packet. */
    void arrived(Packet packet);

    /**
     * Sees an arriving packet with a wrong ICRC.
     *
     * @param addresses a packet that holds the addresses and nothing else
     * @param bytes the address of the bytes, from the BTH to before the ICRC
     * @param difference the exclusive or of the packet's ICRC and the right one
     */
    void arrivedDamaged(Packet addresses, long bytes, int length, int difference);
}
