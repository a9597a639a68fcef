package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.kverbs.internal.abi.IbvCompChannel;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.memory.Memory;

/** Makes and destroys the completion channels and queues of an open device of libibverbs. */
final class NativeCompletions {

    private final Libibverbs verbs;
    private final long context;
    private final ContextTables tables;
    private final WaitableFds channels;
    /** The addresses of the extended completion queues. */
    final Set<Long> extended = ConcurrentHashMap.newKeySet();

    NativeCompletions(Libibverbs verbs, long context, ContextTables tables, WaitableFds channels) {
        this.verbs = verbs;
        this.context = context;
        this.tables = tables;
        this.channels = channels;
    }

    /** Makes a channel whose waits can be ended. Returns its address or -errno. */
    long createChannel() {
        long channel = verbs.createCompChannel(context);
        if (channel < 0) {
            return channel;
        }
        int result = channels.add(channel, fd(channel));
        if (result < 0) {
            verbs.destroyCompChannel(channel);
            return result;
        }
        return channel;
    }

    /** Returns 0 or -errno. */
    int destroyChannel(long channel) {
        return channels.remove(channel, () -> verbs.destroyCompChannel(channel));
    }

    /** Waits for an event. Returns the address of a queue, 0 when the time is over, or -errno. */
    long await(long channel, long timeoutNanos) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment cq = arena.allocate(2 * ADDRESS.byteSize(), ADDRESS.byteAlignment());
            int result = channels.await(
                    channel,
                    timeoutNanos,
                    () -> verbs.getCqEvent(channel, cq.address(), cq.address() + ADDRESS.byteSize()));
            return result <= 0 ? result : cq.get(JAVA_LONG, 0);
        }
    }

    /** Makes an extended queue. Returns its address or -errno. */
    long createExtended(MemorySegment initAttributes) {
        long cq = tables.createCqEx(initAttributes);
        if (cq > 0) {
            extended.add(cq);
        }
        return cq;
    }

    /** Returns 0 or -errno. */
    int destroy(long cq) {
        boolean wasExtended = extended.remove(cq); // before a new queue can get the address
        int result = verbs.destroyCq(cq);
        if (result < 0 && wasExtended) {
            extended.add(cq);
        }
        return result;
    }

    static int fd(long channel) {
        return Memory.at(channel, IbvCompChannel.SIZE)
                .get(JAVA_INT, IbvCompChannel.FD);
    }

    /**
     * Returns whether a post of this queue pair can meet the lock of its completion queue held by a thread that stopped
     * at a safepoint during an extended poll. A critical post would spin on the lock and keep the safepoint from
     * ending.
     */
    boolean areExtendedFor(long qp) {
        return extended.contains(Memory.getLong(qp + IbvQp.SEND_CQ))
                || extended.contains(Memory.getLong(qp + IbvQp.RECV_CQ));
    }
}
