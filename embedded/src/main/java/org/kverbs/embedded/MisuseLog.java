package org.kverbs.embedded;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Keeps the findings of the diagnostics, and tells a listener about each. */
final class MisuseLog {

    /**
     * The most findings that are kept: a program that repeats a mistake for every message must not run out of memory.
     */
    private static final int MOST = 1000;

    private static final System.Logger LOG = System.getLogger("org.kverbs.embedded");

    private volatile Consumer<? super BufferMisuse> listener;
    private final List<BufferMisuse> found = new ArrayList<>();

    MisuseLog(Consumer<? super BufferMisuse> listener) {
        this.listener = listener;
    }

    /** Replaces the listener. */
    void tell(Consumer<? super BufferMisuse> other) {
        listener = other;
    }

    /** Logs a warning, with the stack trace of the post if it is known. */
    static void warn(BufferMisuse misuse) {
        LOG.log(System.Logger.Level.WARNING, misuse.toString(), misuse.buffer().postedAt());
    }

    void add(BufferMisuse misuse) {
        synchronized (this) {
            if (found.size() < MOST) {
                found.add(misuse);
            }
        }
        try {
            listener.accept(misuse);
        } catch (Throwable e) {
            // The device is in the middle of its work, and the thread that polls did nothing wrong: it must not get
            // this exception.
            LOG.log(System.Logger.Level.ERROR, "the diagnostics' listener failed for this misuse: " + misuse, e);
        }
    }

    /** Returns the first findings, in the order in which they were found. */
    synchronized List<BufferMisuse> found() {
        return List.copyOf(found);
    }
}
