package org.kverbs.embedded.internal.objects;

/**
 * A queue pair, as memory keys know it: they ask for whom memory is used. Each queue pair is one object, compared by
 * identity.
 */
public interface KeyUser {

    /** The protection domain in which it was made. */
    Pd pd();

    /** The keys of its device. */
    Keys keys();

    /** The device is about to touch memory of a mapped file for it. */
    void touchesFile();

    /**
     * The device was to use memory of a region for it that the program has freed; {@code need} as for
     * {@link MemoryKey#translate}.
     */
    void memoryFreed(long address, long bytes, int need);
}
