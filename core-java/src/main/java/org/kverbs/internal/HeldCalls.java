package org.kverbs.internal;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls of the program that keep resources open while they run, of each thread. A close by such a call could never
 * end, since it waits for the call.
 */
public final class HeldCalls {

    /** The calls of this thread, the innermost first; not set outside all calls. */
    private static final ThreadLocal<@Nullable Held> HELD = new ThreadLocal<>();

    private record Held(Lifetime lifetime, @Nullable Held outer) {}

    private HeldCalls() {}

    /** Runs a call, whose caller has entered the guard of {@code lifetime}. */
    public static <T extends @Nullable Object> T run(Lifetime lifetime, Supplier<T> call) {
        Held outer = HELD.get();
        HELD.set(new Held(lifetime, outer));
        try {
            return call.get();
        } finally {
            if (outer == null) {
                HELD.remove();
            } else {
                HELD.set(outer);
            }
        }
    }

    /** Throws if a call of this thread keeps the resource open, or one that was made from it. */
    static void refuseClose(Lifetime closing) {
        for (Held held = HELD.get(); held != null; held = held.outer) {
            if (held.lifetime.isWithin(closing)) {
                throw new IllegalStateException(closing.describe() + " can't be closed inside callNative of "
                        + held.lifetime.describe() + ", since the close waits for the call: close it after the call");
            }
        }
    }
}
