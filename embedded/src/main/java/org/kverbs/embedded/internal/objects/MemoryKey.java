package org.kverbs.embedded.internal.objects;


/**
 * What an lkey or rkey stands for: a region, or a window on one. The upper 24 bits of a key are the device's and
 * random, the lower 8 count up with each binding of a window (IBA volume 1, 10.6.3.4).
 */
public abstract sealed class MemoryKey permits Mr, Mw {

    /** What {@link #translate} says of memory that may not be used so. */
    public static final long NONE = -1;

    public Pd pd;
    public int key;

    MemoryKey(Pd pd, int key) {
        this.pd = pd;
        this.key = key;
    }

    /**
     * Where bytes of this memory lie.
     *
     * @param virtual the address as peers and work requests give it
     * @param need {@code enum ibv_access_flags}, all of which must be allowed; 0 for reading by the owner
     * @param user the queue pair that asks
     * @return a native address, or {@link #NONE} if any of them is outside or not allowed
     */
    abstract long translate(long virtual, long length, int need, KeyUser user);

    /** The offset of a range in {@code size} bytes that begin at {@code start}; below zero if it is not inside. */
    public static long offset(long virtual, long length, long start, long size) {
        long offset = virtual - start;
        return Long.compareUnsigned(offset, size) > 0 || length > size - offset ? NONE : offset;
    }
}
