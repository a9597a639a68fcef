package org.kverbs.internal;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A memory fence on every processor that runs a thread of this process. Who runs it spares the other threads their own
 * fences. Only a native call makes one: the provider of native devices offers it, whatever devices a program uses.
 */
public final class ProcessFence {

    private static final AtomicReference<@Nullable Supplier<@Nullable Runnable>> MAKER = new AtomicReference<>();

    private static volatile @Nullable Runnable fence;

    private ProcessFence() {}

    /**
     * Offers the fence.
     *
     * @param maker makes the fence, which must not fail any more, or null where there is none. It is called when the
     *     first program wants the fence, on a thread of its own: linking the native call takes milliseconds
     */
    public static void offer(Supplier<@Nullable Runnable> maker) {
        MAKER.set(maker);
    }

    /** Returns whether {@link #run} may be called; once true, it stays so. The first calls may come too early. */
    public static boolean isAvailable() {
        return fence != null || MAKER.getPlain() != null && make();
    }

    private static boolean make() {
        Supplier<@Nullable Runnable> maker = MAKER.getAndSet(null);
        if (maker != null) {
            try {
                Thread.ofPlatform().daemon().name("kverbs-fence").start(() -> bring(maker.get()));
            } catch (VirtualMachineError e) {
                // This process has no room for a thread: it goes on without a fence.
            }
        }
        return false;
    }

    private static void bring(@Nullable Runnable made) {
        if (made != null) {
            fence = made;
        }
    }

    /** Runs the fence. It takes some hundred nanoseconds. */
    static void run() {
        Objects.requireNonNull(fence).run();
    }
}
