package org.kverbs.embedded;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Keeps what the diagnostics find, and tells a listener. */
final class MisuseLog {

    /** A program that makes the same mistake for every message must not run out of memory for it. */
    private static final int MOST = 1000;

    private static final System.Logger LOG = System.getLogger("org.kverbs.embedded");

    private volatile Consumer<? super BufferMisuse> listener;
    private final List<BufferMisuse> found = new ArrayList<>();

    MisuseLog(Consumer<? super BufferMisuse> listener) {
        this.listener = listener;
    }

    /** Tells another from now on. */
    void tell(Consumer<? super BufferMisuse> other) {
        listener = other;
    }

    /** Warns of it, and shows where the memory was posted if that is known. */
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
            // The device is in the middle of its work, and who polled has done nothing wrong.
            LOG.log(System.Logger.Level.ERROR, "the listener failed for: " + misuse, e);
        }
    }

    /** The first ones, in their order. */
    synchronized List<BufferMisuse> found() {
        return List.copyOf(found);
    }
}
