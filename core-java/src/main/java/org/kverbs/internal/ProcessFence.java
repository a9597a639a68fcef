package org.kverbs.internal;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A memory fence on every processor that runs a thread of this process. Who runs it spares the other threads their own
 * fences. Only a native call makes one, so there is none until the provider of native devices has brought it.
 */
public final class ProcessFence {

    private static volatile @Nullable Runnable fence;

    private ProcessFence() {}

    /** Brings the fence. It must not fail any more. */
    public static void install(Runnable call) {
        fence = call;
    }

    /** Returns whether {@link #run} may be called; once true, it stays so. */
    public static boolean isAvailable() {
        return fence != null;
    }

    /** Runs the fence. It takes some hundred nanoseconds. */
    static void run() {
        Objects.requireNonNull(fence).run();
    }
}
