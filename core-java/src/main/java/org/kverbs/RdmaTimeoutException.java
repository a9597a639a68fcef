package org.kverbs;

import java.io.Serial;
import java.time.Duration;
import java.util.List;

/**
 * Reports that fewer completions arrived in time than a program waited for. The exception keeps those that did arrive,
 * since they are no longer in the queue.
 */
public class RdmaTimeoutException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final transient List<WorkCompletion> completions;

    /**
     * Describes a wait that ran out.
     *
     * @param wanted how many completions the program waited for
     * @param got those that arrived
     * @param queue the description of the completion queue
     * @param timeout how long the program waited
     */
    public RdmaTimeoutException(int wanted, List<WorkCompletion> got, String queue, Duration timeout) {
        super("only " + got.size() + " of " + wanted + " completions came to the " + queue + " within "
                + timeout.toMillis() + " ms: " + got
                + ". Is every request signaled, is the queue pair connected, has the peer posted receives?");
        this.completions = List.copyOf(got);
    }

    /** Returns the completions that arrived in time. */
    public List<WorkCompletion> completions() {
        return completions;
    }
}
