package org.kverbs.cm;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Closes several things, and all of them if a close fails. */
final class Closing {
    private Closing() {}

    /** Closes all in their order. The first failure is thrown, and has the others as suppressed exceptions. */
    static void all(List<? extends AutoCloseable> things) {
        Throwable first = null;
        for (AutoCloseable each : things) {
            Throwable failure = close(each);
            if (first == null) {
                first = failure;
            } else if (failure != null && failure != first) {
                first.addSuppressed(failure);
            }
        }
        if (first instanceof Error error) {
            throw error;
        }
        if (first != null) {
            throw (RuntimeException) first;
        }
    }

    /** Closes all after a failure, which gets the failures of the closes as suppressed exceptions. */
    static void after(Throwable cause, List<? extends AutoCloseable> things) {
        for (AutoCloseable each : things) {
            Throwable failure = close(each);
            if (failure != null && failure != cause) {
                cause.addSuppressed(failure);
            }
        }
    }

    private static @Nullable Throwable close(AutoCloseable thing) {
        try {
            thing.close();
            return null;
        } catch (RuntimeException | Error e) {
            return e;
        } catch (Exception e) {
            throw new IllegalStateException("nothing here closes with a checked exception", e);
        }
    }
}
