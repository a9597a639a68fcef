package org.kverbs.embedded.internal.objects;


/** A memory region ({@code struct ibv_mr}). */
public final class Mr extends MemoryKey {

    final long structure;
    public long base;
    public long length;
    /** What peers and work requests call its first byte. */
    public long iova;
    public int access;
    /** Windows that are bound to it. */
    public int windows;

    public Mr(Pd pd, int key, long structure, long base, long length, long iova, int access) {
        super(pd, key);
        this.structure = structure;
        this.base = base;
        this.length = length;
        this.iova = iova;
        this.access = access;
    }

    @Override
    long translate(long virtual, long bytes, int need, KeyUser user) {
        return locate(virtual, bytes, need, user.pd());
    }

    /** {@link #translate} for who has a protection domain and no queue pair. */
    long locate(long virtual, long bytes, int need, Pd by) {
        if (by != pd || (access & need) != need) {
            return NONE;
        }
        long offset = offset(virtual, bytes, iova, length);
        return offset < 0 ? NONE : base + offset;
    }
}
