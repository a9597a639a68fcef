package org.kverbs.embedded.internal.engine;

import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.function.Consumer;

/** Tells a handler about failures of events, tasks and packets, and logs what the handler itself throws. */
final class FailureReports {

    private final boolean virtual;
    private final FailureLog log = new FailureLog(Level.ERROR);
    private Consumer<? super Throwable> handler =
            failure -> log.add("one event of the embedded device failed; the device goes on", failure);

    /** @param virtual whether the handler's exceptions are thrown to the program */
    FailureReports(boolean virtual) {
        this.virtual = virtual;
    }

    /** Sets the handler; see {@link Engine#onFailure}. */
    void tell(Consumer<? super Throwable> next) {
        handler = Objects.requireNonNull(next);
    }

    /** Tells the handler; see {@link Engine#report}. */
    void report(Throwable failure) {
        try {
            handler.accept(failure);
        } catch (Throwable e) {
            if (virtual) {
                throw e;
            }
            log.add("the failure handler of the embedded device threw an exception", e);
        }
    }
}
