package org.kverbs.embedded.internal.device;

/** A protection domain ({@code struct ibv_pd}). */
final class Pd {

    final long address;
    /** How many objects were made in it. */
    int users;

    Pd(long address) {
        this.address = address;
    }
}
