package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;

/**
 * An XRC domain (IBA volume 1, 10.2.3). Contexts that name the same file share it. It lives as long as a context has it
 * open.
 */
public final class XrcDomain {

    /** What identifies the file; null for a domain that nobody shares. */
    public final @Nullable Object file;
    /** The number of {@link OpenXrcDomain}s that lead here. */
    public int opened;

    public XrcDomain(@Nullable Object file) {
        this.file = file;
    }
}
