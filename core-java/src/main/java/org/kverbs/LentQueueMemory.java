package org.kverbs;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.QueueMemory;

/** What a driver has of a program's {@link DomainAllocator}. The memory stays reachable until the driver frees it. */
final class LentQueueMemory implements QueueMemory {

    private static final System.Logger LOG = System.getLogger("org.kverbs");

    private final DomainAllocator allocator;
    private final Map<Long, MemorySegment> lent = new ConcurrentHashMap<>();

    LentQueueMemory(DomainAllocator allocator) {
        this.allocator = allocator;
    }

    @Override
    public long allocate(long size, long alignment, long resourceType) {
        try {
            return ask(size, alignment, resourceType);
        } catch (Throwable e) { // no exception can pass through the driver
            return refuse(e);
        }
    }

    /** Refuses without an exception of its own, also if the text of the exception throws, or no heap is left for it. */
    private static long refuse(Throwable e) {
        report("The allocator of a parent domain failed.", e);
        try {
            return refuse("The allocator of the parent domain failed: " + text(e));
        } catch (Throwable unspeakable) {
            return 0;
        }
    }

    private static String text(Throwable e) {
        try {
            return e.toString();
        } catch (Throwable unspeakable) {
            return e.getClass().getName();
        }
    }

    private static void report(String what, Throwable e) {
        try {
            LOG.log(System.Logger.Level.WARNING, what, e);
        } catch (Throwable unspeakable) { // an exception whose text throws, or a log that does
            // Nothing is left to tell it to.
        }
    }

    private long ask(long size, long alignment, long resourceType) {
        MemorySegment memory = allocator.allocate(size, alignment, resourceType);
        if (memory == null) {
            return DEFAULT;
        }
        String wrong = wrongWith(memory, size, alignment);
        if (wrong != null) {
            return refuse(("The allocator of the parent domain was asked for %d bytes, aligned to %d, and gave memory"
                            + " %s.")
                    .formatted(size, alignment, wrong));
        }
        long address = memory.address();
        if (lent.putIfAbsent(address, memory) != null) {
            return refuse("The allocator of the parent domain gave memory that the driver has already.");
        }
        boolean isCleared = false;
        try {
            memory.asSlice(0, size).fill((byte) 0);
            Memory.throwPending(); // of a mapped file that was cut
            isCleared = true;
        } finally {
            if (!isCleared) {
                lent.remove(address);
            }
        }
        return address;
    }

    private static @Nullable String wrongWith(MemorySegment memory, long size, long alignment) {
        if (!memory.isNative()) {
            return "on the Java heap";
        }
        if (memory.isReadOnly()) {
            return "that is read-only";
        }
        if (!memory.scope().isAlive()) {
            return "of a closed arena";
        }
        if (!memory.isAccessibleBy(Thread.currentThread())) {
            return "of another thread's arena";
        }
        if (memory.byteSize() < size) {
            return "of " + memory.byteSize() + " bytes";
        }
        return alignment > 1 && memory.address() % alignment != 0 ? "at 0x" + Long.toHexString(memory.address()) : null;
    }

    private static long refuse(String reason) {
        Refusal.because(Errno.ENOMEM, reason);
        return 0;
    }

    @Override
    public void free(long address, long resourceType) {
        try {
            MemorySegment memory = lent.remove(address);
            if (memory != null) {
                allocator.free(memory, resourceType);
            }
        } catch (Throwable e) {
            report("The allocator of a parent domain failed to free memory.", e);
        }
    }
}
