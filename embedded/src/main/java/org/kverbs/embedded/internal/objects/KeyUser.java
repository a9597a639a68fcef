package org.kverbs.embedded.internal.objects;

/**
 * Represents a queue pair to the memory keys, which check for whom memory is used. Each queue pair is one object,
 * compared by identity. For a request of XRC the shared receive queue that it names stands in place of the queue pair.
 */
public interface KeyUser {

    /** Returns the protection domain of the queue pair or shared receive queue. */
    Pd pd();

    /** Returns the memory keys of the device. */
    Keys keys();

    /** Notes that the device is about to touch memory of a mapped file. */
    void touchesFile();

    /** Notes that the device met pages of a region with on-demand paging that it did not have. */
    void pagesMissed(long pages);

    /**
     * Notes that the device needed memory of a region that the program has freed; {@code need} as for {@link
     * MemoryKey#translate}.
     */
    void memoryFreed(long address, long bytes, int need);
}
