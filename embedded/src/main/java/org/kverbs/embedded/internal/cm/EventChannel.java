package org.kverbs.embedded.internal.cm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.objects.Channel;
import org.kverbs.internal.abi.RdmaEventChannel;
import org.kverbs.internal.memory.Memory;

/** Holds a {@code struct rdma_event_channel}, without a file descriptor. */
final class EventChannel {

    private final MemorySegment structure = Arena.ofAuto().allocate(RdmaEventChannel.SIZE, 8);
    final Channel<CmEvent> events;
    /** The name of the device that the channel's ids prefer if several lead to an address; null for the first. */
    final @Nullable String device;

    EventChannel(Engine engine, @Nullable String device) {
        this.device = device;
        this.events = new Channel<>(engine);
        Memory.putInt(handle() + RdmaEventChannel.FD, -1);
    }

    long handle() {
        return structure.address();
    }
}
