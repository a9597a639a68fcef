package org.kverbs.internal;

import static org.kverbs.internal.abi.Errno.*;

import org.jspecify.annotations.Nullable;

/** Says what to do about an errno of a call for extended reliable connections. */
final class XrcAdvice {

    private XrcAdvice() {}

    /** Returns whole sentences; null if the errno means here what it means everywhere. */
    static @Nullable String call(String function, int errno) {
        return switch (function) {
            case "ibv_open_xrcd" -> domain(errno);
            case "ibv_open_qp" -> errno == EINVAL
                    ? "The XRC domain has no receiving queue pair of this number: check the number, and that both "
                            + "sides opened the domain of the same file."
                    : null;
            default -> null;
        };
    }

    private static @Nullable String domain(int errno) {
        return switch (errno) {
            case EAGAIN -> "Nobody has the XRC domain of this file open: let the first user make it "
                    + "(XrcDomainAttributes.of(file)).";
            case EINVAL -> "The XRC domain of this file is open already: open it without fresh().";
            case ENOENT, EACCES -> "The file of the XRC domain can't be opened: check that it exists, and that this "
                    + "user may read it.";
            default -> null;
        };
    }
}
