package org.kverbs.cm;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Closes several things, and all of them if a close fails. */
final class Closing {
    private Closing() {}

    /** Closes all in their order. The first failure is thrown, and has the others as suppressed exceptions. */
    static void all(List<? extends AutoCloseable> things) {
        RuntimeException first = null;
        for (AutoCloseable each : things) {
            RuntimeException failure = close(each);
            if (first == null) {
                first = failure;
            } else if (failure != null) {
                first.addSuppressed(failure);
            }
        }
        if (first != null) {
            throw first;
        }
    }

    /** Closes all after a failure, which gets the failures of the closes as suppressed exceptions. */
    static void after(Throwable cause, List<? extends AutoCloseable> things) {
        for (AutoCloseable each : things) {
            RuntimeException failure = close(each);
            if (failure != null) {
                cause.addSuppressed(failure);
            }
        }
    }

    private static @Nullable RuntimeException close(AutoCloseable thing) {
        try {
            thing.close();
            return null;
        } catch (RuntimeException e) {
            return e;
        } catch (Exception e) {
            throw new IllegalStateException("nothing here closes with a checked exception", e);
        }
    }
}
