package org.kverbs.embedded.internal.wire;

/** Takes a packet when its time has come. */
@FunctionalInterface
public interface PacketSink {

    /** Called with the engine's lock held. The packet is the callee's now, who gives it back to the pool in the end. */
    void accept(Packet packet);
}
