package org.kverbs.embedded.internal.engine;

import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Logs failures that a peer can cause at any rate: at most one message a second, which tells how many messages were
 * left out since the previous one. Any thread may use it.
 */
public final class FailureLog {

    private static final System.Logger LOG = System.getLogger("org.kverbs.embedded");
    private static final long INTERVAL = TimeUnit.SECONDS.toNanos(1);

    private final Level level;
    private long last = System.nanoTime() - INTERVAL;
    private long leftOut;

    /** Makes a log that writes with this level to the {@link System.Logger} named {@code org.kverbs.embedded}. */
    public FailureLog(Level level) {
        this.level = level;
    }

    /** Logs a message, or counts it. Throws nothing, even without free memory. */
    public synchronized void add(String message, @Nullable Throwable cause) {
        try {
            long now = System.nanoTime();
            if (now - last < INTERVAL) {
                leftOut++;
                return;
            }
            last = now;
            LOG.log(level, leftOut == 0 ? message : message + " (and " + leftOut + " more since the last such message)",
                    cause);
            leftOut = 0;
        } catch (Throwable e) {
            // The device goes on without the log message.
        }
    }
}
