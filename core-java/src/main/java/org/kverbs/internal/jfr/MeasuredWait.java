package org.kverbs.internal.jfr;

import java.util.function.Supplier;

/** A wait that is being measured, for {@code org.kverbs.SlowWait}. One thread begins it, and any one thread ends it. */
public interface MeasuredWait {

    /**
     * Ends the wait, and records it if it was longer than the recording's threshold.
     *
     * @param what what was waited for, such as {@code buffer}
     * @param where describes the object that let the caller wait; called only if the wait is recorded
     */
    void end(String what, Supplier<String> where);
}
