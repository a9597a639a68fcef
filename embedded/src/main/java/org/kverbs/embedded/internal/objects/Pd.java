package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;

/**
 * A protection domain or a parent domain ({@code struct ibv_pd}). An object counts in the domain that it was made in,
 * and is protected by the {@link #root}.
 */
public final class Pd {

    final long address;
    /** The number of objects made in this domain. */
    public int users;

    /** The domain that a parent domain was made from; null for a protection domain. */
    public final @Nullable Pd parent;
    /** The thread domain of a parent domain, if it has one. */
    public final @Nullable Td threads;

    public Pd(long address) {
        this(address, null, null);
    }

    /** Makes a parent domain. */
    public Pd(long address, @Nullable Pd parent, @Nullable Td threads) {
        this.address = address;
        this.parent = parent;
        this.threads = threads;
    }

    /** Returns the protection domain at the end of the parents; two domains of one root share their memory. */
    private Pd root() {
        Pd root = this;
        while (root.parent != null) {
            root = root.parent;
        }
        return root;
    }

    /** Returns whether an object of one domain can be used with an object of the other. */
    public boolean protects(Pd other) {
        return this == other || root() == other.root();
    }
}
