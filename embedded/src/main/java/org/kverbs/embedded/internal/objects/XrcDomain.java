package org.kverbs.embedded.internal.objects;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * An XRC domain (IBA volume 1, 10.2.3). Contexts that name the same file share it. It lives as long as a context has it
 * open.
 */
public final class XrcDomain {

    /** What identifies the file; null for a domain that nobody shares. */
    public final @Nullable Object file;
    /** The open file: while it is open, no other file gets the identity. Null for a domain that nobody shares. */
    private final @Nullable Closeable open;
    /** True if a context ever had the domain open. */
    public boolean wasOpened;
    /** The number of {@link OpenXrcDomain}s that lead here. */
    public int opened;

    /** @param open the file, which the domain closes */
    public XrcDomain(@Nullable Object file, @Nullable Closeable open) {
        this.file = file;
        this.open = open;
    }

    /** Closes the file. */
    public void close() {
        try {
            if (open != null) {
                open.close();
            }
        } catch (IOException e) {
            // Nothing was written to the file.
        }
    }
}
