package org.kverbs.embedded.internal.objects;


/**
 * The target of an lkey or rkey: a region, or a window on a region. The upper 24 bits of a key are random; the lower 8
 * count up with each binding of a window (IBA volume 1, 10.6.3.4).
 */
public abstract sealed class MemoryKey permits Mr, Mw {

    /** The result of {@link #translate} for memory that is outside or does not permit the use. */
    public static final long NONE = -1;

    /** The result of {@link #translate} for a region without memory: reads give zeros, and writes are dropped. */
    public static final long NOWHERE = -2;

    public Pd pd;
    public int key;

    MemoryKey(Pd pd, int key) {
        this.pd = pd;
        this.key = key;
    }

    /**
     * Returns the native address of a range of this memory.
     *
     * @param virtual the address in the terms of peers and work requests
     * @param need {@code enum ibv_access_flags}, all of which must be permitted; 0 for reading by the owner
     * @param user the queue pair that asks
     * @return a native address; {@link #NONE} if any byte is outside or does not permit the use; or {@link #NOWHERE},
     *     which no rkey gives
     */
    abstract long translate(long virtual, long length, int need, KeyUser user);

    /**
     * Does {@link #translate} for a range that the device does not touch now: brings no pages in. The result is not
     * for use.
     */
    abstract long check(long virtual, long length, int need, KeyUser user);

    /** Does {@link #check} for all of this memory. */
    abstract long checkAll(int need, KeyUser user);

    /**
     * Returns the offset of a range in {@code size} bytes that begin at {@code start}; below zero if the range is not
     * inside.
     */
    public static long offset(long virtual, long length, long start, long size) {
        long offset = virtual - start;
        return Long.compareUnsigned(offset, size) > 0 || length > size - offset ? NONE : offset;
    }
}
