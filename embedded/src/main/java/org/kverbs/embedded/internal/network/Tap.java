package org.kverbs.embedded.internal.network;

import org.kverbs.embedded.internal.wire.Packet;

/**
 * Sees each packet that arrives at a device of a network, right before the device does. Called with the engine's lock:
 * quick, and no throwing.
 */
public interface Tap {

    /** A packet arrives. */
    void arrived(Packet packet);

    /**
     * One arrives with a wrong ICRC.
     *
     * @param addresses a packet with its addresses, and nothing else of it
     * @param bytes from the BTH to before the ICRC
     * @param difference its ICRC and the right one, exclusive or
     */
    void arrivedDamaged(Packet addresses, long bytes, int length, int difference);
}
