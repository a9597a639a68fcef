package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;

/**
 * The calls of an open device for extended reliable connections (XRC), which not every device has. The results are as
 * those of {@link VerbsContext}, whose calls make an XRC_SEND queue pair ({@code createQueuePair}, {@code
 * createQueuePairEx}) and an XRC_RECV queue pair ({@code createQueuePairEx}), and destroy both.
 */
public interface XrcVerbs {

    /** The calls of a device without XRC. */
    XrcVerbs NONE = new XrcVerbs() {};

    /**
     * Opens an XRC domain, {@code struct ibv_xrcd} ({@code ibv_open_xrcd}).
     *
     * @param file the file whose inode names the domain; null for a domain that nobody shares. With O_CREAT the call
     *     makes a file that does not exist
     * @param flags O_CREAT and O_EXCL
     */
    default long openDomain(@Nullable Path file, int flags) {
        return -Errno.EOPNOTSUPP;
    }

    /** Closes an XRC domain ({@code ibv_close_xrcd}). */
    default int closeDomain(long domain) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Makes a shared receive queue by {@code struct ibv_srq_init_attr_ex}, and updates its {@code attr} ({@code
     * ibv_create_srq_ex}).
     */
    default long createSharedReceiveQueue(MemorySegment initAttributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Returns the number of a shared receive queue, 24 bits, or -errno ({@code ibv_get_srq_num}). */
    default int sharedReceiveQueueNumber(long srq) {
        return -Errno.EOPNOTSUPP;
    }

    /** Opens an XRC_RECV queue pair by {@code struct ibv_qp_open_attr} ({@code ibv_open_qp}). */
    default long openQueuePair(MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }
}
