package org.kverbs.embedded.internal.objects;

/** A protection domain ({@code struct ibv_pd}). */
public final class Pd {

    final long address;
    /** The number of objects made in this domain. */
    public int users;

    public Pd(long address) {
        this.address = address;
    }
}
