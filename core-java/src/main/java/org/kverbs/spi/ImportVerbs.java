package org.kverbs.spi;

import org.kverbs.internal.abi.Errno;

/**
 * The calls of a device that share its objects with other contexts, which not every device has. A descriptor names the
 * kernel's side of a context; a handle names an object among those that were made through that descriptor.
 *
 * <p>As in {@link VerbsContext}, a negative result is {@code -errno}. Each method of this interface refuses with {@code
 * EOPNOTSUPP}.
 */
public interface ImportVerbs {

    /** A device that shares nothing. */
    ImportVerbs NONE = new ImportVerbs() {};

    /** Returns the descriptor of this context ({@code cmd_fd}), which the context owns. */
    default int commandDescriptor() {
        return -Errno.EOPNOTSUPP;
    }

    /** Returns a duplicate of {@link #commandDescriptor}, which the caller owns ({@code man 2 dup}). */
    default int duplicateDescriptor() {
        return -Errno.EOPNOTSUPP;
    }

    /** Makes a {@code struct ibv_pd} for a protection domain of another context ({@code ibv_import_pd}). */
    default long importPd(int handle) {
        return -Errno.EOPNOTSUPP;
    }

    /** Frees a structure of {@link #importPd}; the domain stays ({@code ibv_unimport_pd}). */
    default void unimportPd(long pd) {}

    /** Makes a {@code struct ibv_mr} for a region of another context ({@code ibv_import_mr}). */
    default long importMemory(long pd, int handle) {
        return -Errno.EOPNOTSUPP;
    }

    /** Frees a structure of {@link #importMemory}; the region stays ({@code ibv_unimport_mr}). */
    default void unimportMemory(long mr) {}

    /** Makes a {@code struct ibv_dm} for device memory of another context ({@code ibv_import_dm}). */
    default long importDeviceMemory(int handle) {
        return -Errno.EOPNOTSUPP;
    }

    /** Frees a structure of {@link #importDeviceMemory}; the memory stays ({@code ibv_unimport_dm}). */
    default void unimportDeviceMemory(long dm) {}
}
