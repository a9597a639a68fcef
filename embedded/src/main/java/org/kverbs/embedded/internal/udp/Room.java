package org.kverbs.embedded.internal.udp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.internal.memory.Memory;

/**
 * Native memory for packets that stand one behind the other. The ICRC of a packet is computed in place: for that time
 * its headers overwrite the end of the packet before it.
 */
final class Room {

    final ByteBuffer bytes;
    final long address;
    final Icrc icrc;
    private final long spare;
    /** Owns the memory. */
    private final MemorySegment memory;

    Room(int size) {
        memory = Arena.ofAuto().allocate(2L * Icrc.HEADROOM + size, Icrc.HEADROOM);
        spare = memory.address();
        MemorySegment summed = memory.asSlice(Icrc.HEADROOM);
        icrc = new Icrc(summed.asByteBuffer());
        address = summed.address() + Icrc.HEADROOM;
        bytes = summed.asSlice(Icrc.HEADROOM).asByteBuffer();
    }

    /** Keeps the bytes before a packet, until {@link #restore}. */
    void save(long packet) {
        Memory.copy(packet - Icrc.HEADROOM, spare, Icrc.HEADROOM);
    }

    /** Puts the bytes before a packet back. */
    void restore(long packet) {
        Memory.copy(spare, packet - Icrc.HEADROOM, Icrc.HEADROOM);
    }
}
