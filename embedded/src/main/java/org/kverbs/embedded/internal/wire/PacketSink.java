package org.kverbs.embedded.internal.wire;

/** Takes a packet when its time has come. */
@FunctionalInterface
public interface PacketSink {

    /**
     * Takes a packet; called with the engine's lock held. The packet then belongs to the callee, which must give it
     * back to the pool.
     */
    void accept(Packet packet);
}
