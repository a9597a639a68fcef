package org.kverbs.embedded.internal.engine;

import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs calls of the program with the lock of an engine held, and then what they made ready. A call that may change
 * something begins when no thread copies without the lock.
 */
public class LockedCalls {

    private final Engine engine;

    public LockedCalls(Engine engine) {
        this.engine = engine;
    }

    /** Runs a call that returns a status or a small number. */
    public final int call(IntSupplier action) {
        engine.enter();
        try {
            engine.copies().await();
            return action.getAsInt();
        } finally {
            engine.leave();
        }
    }

    /** Runs a call that returns an address or -errno. */
    public final long make(LongSupplier action) {
        engine.enter();
        try {
            engine.copies().await();
            return action.getAsLong();
        } finally {
            engine.leave();
        }
    }

    /** Runs a call that returns an object. */
    public final <T extends @Nullable Object> T find(Supplier<T> action) {
        engine.enter();
        try {
            return action.get();
        } finally {
            engine.leave();
        }
    }

    /** Runs a call that returns nothing. */
    public final void run(Runnable action) {
        engine.enter();
        try {
            engine.copies().await();
            action.run();
        } finally {
            engine.leave();
        }
    }
}
