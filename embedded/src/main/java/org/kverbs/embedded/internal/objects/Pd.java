package org.kverbs.embedded.internal.objects;

/** A protection domain ({@code struct ibv_pd}). */
public final class Pd {

    final long address;
    /** How many objects were made in it. */
    public int users;

    public Pd(long address) {
        this.address = address;
    }
}
