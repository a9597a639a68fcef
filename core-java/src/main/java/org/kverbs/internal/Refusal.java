package org.kverbs.internal;

import org.jspecify.annotations.Nullable;

/**
 * The reason why a software device refused a call. A provider in Java can give more than the errno of a C library. The
 * reason belongs to the calling thread until it goes into the exception of the call.
 */
public final class Refusal {

    /** The vendor error of a completion that an embedded device failed on the order of a test. */
    public static final int INJECTED = 0x7e57;

    private static final ThreadLocal<@Nullable Refusal> LAST = new ThreadLocal<>();

    private final int errno;
    private final String reason;

    private Refusal(int errno, String reason) {
        this.errno = errno;
        this.reason = reason;
    }

    /**
     * Records why the call of this thread is refused.
     *
     * @param errno the error number, positive
     * @param reason a whole sentence
     * @return {@code -errno}, which the provider's call returns
     */
    public static int because(int errno, String reason) {
        LAST.set(new Refusal(errno, reason));
        return -errno;
    }

    /**
     * Drops the recorded reason, if there is one. Call this if the refused call ends without an exception, so that a
     * later exception does not get the reason.
     */
    public static void forget() {
        if (LAST.get() != null) {
            LAST.remove();
        }
    }

    /** Returns and drops the reason that this thread recorded with an errno; null if it recorded none. */
    public static @Nullable String take(int errno) {
        Refusal last = LAST.get();
        if (last == null) {
            return null;
        }
        LAST.remove();
        return last.errno == errno ? last.reason : null;
    }
}
