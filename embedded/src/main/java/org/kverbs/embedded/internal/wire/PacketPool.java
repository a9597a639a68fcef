package org.kverbs.embedded.internal.wire;

import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * Packets with a buffer each, for use again and again; memory grows in slabs up to a bound and is returned when the
 * pool is unreachable. A packet only knows its buffer's address, so who holds one must hold the pool too. Not
 * thread-safe: the engine's lock guards it.
 */
public final class PacketPool {

    /** Packets that are made at a time. */
    private static final int SLAB = 32;
    /** A cache line, so that no two packets share one. */
    private static final int ALIGNMENT = 64;

    private final Arena arena = Arena.ofAuto();
    private final int maximum;
    /**
     * The free ones stand below {@link #free}; the one given last is taken first, as its bytes are likely to be in the
     * cache.
     */
    private final @Nullable Packet[] packets;
    private int free;
    private int made;

    /** @param maximum how many packets may be out at the same time, of {@link Packet#BUFFER_SIZE} bytes each */
    public PacketPool(int maximum) {
        if (maximum < 1) {
            throw new IllegalArgumentException("a pool of " + maximum + " packets: it must hold 1 at least");
        }
        this.maximum = maximum;
        packets = new Packet[maximum];
    }

    /**
     * A packet that is the caller's until {@link #give}; what its header fields hold means nothing, but
     * {@link Packet#sink} is null and {@link Packet#psnCount} 1. Null if the maximum is out: a device that has no room
     * drops packets.
     */
    public @Nullable Packet take() {
        if (free == 0 && !grow()) {
            return null;
        }
        Packet packet = packets[--free];
        packets[free] = null;
        return packet;
    }

    /** Takes back a packet that {@link #take} gave out, once. It must wait in no heap. */
    public void give(Packet packet) {
        if (packet.isScheduled() || free == made) {
            throw new IllegalStateException(packet.isScheduled()
                    ? "a packet was given back that is still scheduled: cancel it first"
                    : "a packet was given back that was not taken, or twice: none is out");
        }
        packet.sink = null;
        packet.psnCount = 1;
        packets[free++] = packet;
    }

    /** How many packets are taken and not given back. */
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
