package org.kverbs.embedded.internal.watch;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kverbs.WorkCompletionOpcode;
import org.kverbs.embedded.BufferMisuse;
import org.kverbs.embedded.PostedBuffer;
import org.kverbs.internal.memory.Memory;

/**
 * Guards the memory of one scatter or gather entry of a posted request, with a copy on the heap. The copy of a source
 * serves for comparison. The device writes to the copy of a destination, while the memory itself is full of poison.
 */
final class Entry {

    /** The result of {@link MemorySegment#mismatch} for equal memory. */
    private static final long EQUAL = -1;

    private static final MemorySegment POISON = poison();

    final Posted posted;
    final WatchedMemory region;
    final long address;
    final long length;
    /** True if the device writes to this memory. */
    final boolean isDestination;
    private @Nullable MemorySegment copy;

    Entry(Posted posted, WatchedMemory region, long address, long length, boolean isDestination) {
        this.posted = posted;
        this.region = region;
        this.address = address;
        this.length = length;
        this.isDestination = isDestination;
    }

    private static MemorySegment poison() {
        byte[] bytes = new byte[1 << 16];
        Arrays.fill(bytes, BufferMisuse.POISON);
        return MemorySegment.ofArray(bytes).asReadOnly();
    }

    long end() {
        return address + length;
    }

    /** Copies the memory, and poisons it if it is a destination. */
    void guard() {
        MemorySegment memory = Memory.at(address, length);
        var bytes = MemorySegment.ofArray(new byte[(int) length]);
        bytes.copyFrom(memory);
        if (isDestination) {
            memory.fill(BufferMisuse.POISON);
        }
        copy = bytes;
    }

    boolean isGuarded() {
        return copy != null;
    }

    /**
     * Writes bytes of the device to the copy. Returns false if the entry is not guarded; the bytes then go to the
     * memory itself.
     */
    boolean store(long offset, long from, long bytes) {
        if (copy == null) {
            return false;
        }
        copy.asSlice(offset, bytes).copyFrom(Memory.at(from, bytes));
        return true;
    }

    /**
     * Ends the guard: a destination gets the bytes of the device and, elsewhere, its former content.
     *
     * @return the offset of the first byte that the program changed, or below zero
     */
    long release() {
        if (copy == null) {
            return EQUAL;
        }
        if (!region.isAlive(address, length)) {
            copy = null;
            return EQUAL;
        }
        MemorySegment memory = Memory.at(address, length);
        long changed = isDestination ? firstUnpoisoned(memory) : copy.mismatch(memory);
        if (isDestination) {
            memory.copyFrom(copy);
        }
        copy = null;
        return changed;
    }

    private static long firstUnpoisoned(MemorySegment memory) {
        for (long at = 0; at < memory.byteSize(); at += POISON.byteSize()) {
            long bytes = Math.min(POISON.byteSize(), memory.byteSize() - at);
            long found = memory.asSlice(at, bytes).mismatch(POISON.asSlice(0, bytes));
            if (found != EQUAL) {
                return at + found;
            }
        }
        return EQUAL;
    }

    PostedBuffer describe() {
        return new PostedBuffer(
                posted.poster().device,
                posted.poster().queuePair,
                posted.id,
                WorkCompletionOpcode.of(posted.opcode),
                address,
                length,
                posted.postedAt);
    }
}
