package org.kverbs;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.OpenFlags;

/**
 * Which XRC domain to open, and whether to make it ({@code struct ibv_xrcd_init_attr}).
 *
 * @param file the file that names the domain, by its inode: programs that open the same file get the same domain. Null
 *     for a domain that no other program can open. The file's contents do not matter
 * @param create whether to make the domain, and the file, if they do not exist ({@code O_CREAT})
 * @param exclusive whether to refuse a domain that exists ({@code O_EXCL})
 */
public record XrcDomainAttributes(@Nullable Path file, boolean create, boolean exclusive) {

    /** A new domain that nobody else can open. */
    public static final XrcDomainAttributes UNSHARED = new XrcDomainAttributes(null, true, false);

    /**
     * Checks the combination.
     *
     * @throws IllegalArgumentException if the domain has no file and is not to be made, or is to be refused if it
     *     exists and not to be made otherwise
     */
    public XrcDomainAttributes {
        if (!create && (file == null || exclusive)) {
            throw new IllegalArgumentException(
                    file == null
                            ? "a domain without a file can only be made: set create"
                            : "an exclusive domain can only be made: set create, or leave exclusive out");
        }
    }

    /** Returns the domain of a file, which is made if it does not exist. */
    public static XrcDomainAttributes of(Path file) {
        return new XrcDomainAttributes(file, true, false);
    }

    /** Returns a copy that does not make the domain: opening it fails with EAGAIN if nobody has it open. */
    public XrcDomainAttributes existing() {
        return new XrcDomainAttributes(file, false, false);
    }

    /** Returns a copy that takes no existing domain: opening it fails with EINVAL if somebody has it open. */
    public XrcDomainAttributes fresh() {
        return new XrcDomainAttributes(file, true, true);
    }

    int flags() {
        return (create ? OpenFlags.O_CREAT : 0) | (exclusive ? OpenFlags.O_EXCL : 0);
    }

    /** Returns the parameters as the C call has them. */
    @Override
    public String toString() {
        return "file=" + (file == null ? "none" : file) + (create ? ", O_CREAT" : "") + (exclusive ? "|O_EXCL" : "");
    }
}
