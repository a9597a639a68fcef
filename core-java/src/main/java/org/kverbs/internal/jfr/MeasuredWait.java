package org.kverbs.internal.jfr;

/** A wait that is being measured, for {@code org.kverbs.SlowWait}. One thread begins it, and any one thread ends it. */
public interface MeasuredWait {

    /**
     * Ends the wait, and records it if it was longer than the recording's threshold.
     *
     * @param what what was waited for, such as {@code buffer}
     * @param where the object that let the caller wait
     */
    void end(String what, String where);
}
