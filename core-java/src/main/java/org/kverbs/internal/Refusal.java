package org.kverbs.internal;

import org.jspecify.annotations.Nullable;

/**
 * Why a device that is a program refused a call: a provider in Java can say more than the errno that a C library would
 * give. The reason goes into the exception for the call; it is the calling thread's until then.
 */
public final class Refusal {

    /** The vendor error of a completion that failed because a test asked an embedded device for it. */
    public static final int INJECTED = 0x7e57;

    private static final ThreadLocal<@Nullable Refusal> LAST = new ThreadLocal<>();

    private final int errno;
    private final String reason;

    private Refusal(int errno, String reason) {
        this.errno = errno;
        this.reason = reason;
    }

    /**
     * Notes why the call of this thread is refused.
     *
     * @param errno positive
     * @param reason a whole sentence
     * @return {@code -errno}, which the provider's call returns
     */
    public static int because(int errno, String reason) {
        LAST.set(new Refusal(errno, reason));
        return -errno;
    }

    /** Forgets a reason, if one was noted: the call ends without an exception, and the next one must not tell it. */
    public static void forget() {
        if (LAST.get() != null) {
            LAST.remove();
        }
    }

    /** The reason that this thread's call was refused for with an errno; null if none was noted. Forgets it. */
    public static @Nullable String take(int errno) {
        Refusal last = LAST.get();
        if (last == null) {
            return null;
        }
        LAST.remove();
        return last.errno == errno ? last.reason : null;
    }
}
