package org.kverbs.embedded.internal.wire;

import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * Keeps packets with a buffer each for reuse. Memory grows in slabs up to a bound and is freed when the pool is
 * unreachable. A packet only knows its buffer's address, so the holder of a packet must also hold the pool. Not
 * thread-safe: the engine's lock guards it.
 */
public final class PacketPool {

    /** The number of packets in a slab. */
    private static final int SLAB = 32;
    /** The size of a cache line: no two packets share one. */
    private static final int ALIGNMENT = 64;

    private final Arena arena = Arena.ofAuto();
    private final int maximum;
    /**
     * The free packets stand below {@link #free}. The last returned one is taken first, since its bytes are likely to
     * be in the cache.
     */
    private final @Nullable Packet[] packets;
    private int free;
    private int made;

    /** @param maximum how many packets can be taken at the same time, of {@link Packet#BUFFER_SIZE} bytes each */
    public PacketPool(int maximum) {
        if (maximum < 1) {
            throw new IllegalArgumentException("a pool can't hold " + maximum + " packets: give a maximum of at"
                    + " least 1");
        }
        this.maximum = maximum;
        packets = new Packet[maximum];
    }

    /**
     * Takes a packet, which belongs to the caller until {@link #give}. Its header fields are undefined; {@link
     * Packet#sink} is null and {@link Packet#psnCount} is 1. Returns null if the maximum is taken: a device without
     * free buffers drops packets.
     */
    public @Nullable Packet take() {
        if (free == 0 && !grow()) {
            return null;
        }
        Packet packet = packets[--free];
        packets[free] = null;
        return packet;
    }

    /** Takes back a packet of {@link #take}, once. The packet must not be scheduled. */
    public void give(Packet packet) {
        if (packet.isScheduled() || free == made) {
            throw new IllegalStateException(packet.isScheduled()
                    ? "a packet that is still scheduled was given back: cancel it first"
                    : "a packet was given back twice, or was never taken: no packet is out");
        }
        packet.sink = null;
        packet.psnCount = 1;
        packets[free++] = packet;
    }

    /** Returns the number of packets that are taken and not given back. */
    public int outstanding() {
        return made - free;
    }

    private boolean grow() {
        int more = Math.min(SLAB, maximum - made);
        if (more == 0) {
            return false;
        }
        long slab = arena.allocate((long) more * Packet.BUFFER_SIZE, ALIGNMENT).address();
        for (int i = 0; i < more; i++) {
            packets[free++] = new Packet(slab + (long) i * Packet.BUFFER_SIZE);
        }
        made += more;
        return true;
    }
}
