package org.kverbs;

import java.io.Serial;
import java.time.Duration;
import java.util.List;

/** Completions that didn't come in time. What came before is kept: it was taken out of the queue. */
public class RdmaTimeoutException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final transient List<WorkCompletion> completions;

    RdmaTimeoutException(int wanted, List<WorkCompletion> got, String queue, Duration timeout) {
        super("only " + got.size() + " of " + wanted + " completions came to the " + queue + " within "
                + timeout.toMillis() + " ms: " + got
                + ". Is every request signaled, is the queue pair connected, has the peer posted receives?");
        this.completions = List.copyOf(got);
    }

    /** The completions that came in time. */
    public List<WorkCompletion> completions() {
        return completions;
    }
}
