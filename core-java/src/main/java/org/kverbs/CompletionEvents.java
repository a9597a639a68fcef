package org.kverbs;

import org.kverbs.spi.VerbsContext;

/** Counts the events of a completion queue that its channel got and that the program has not acknowledged. */
final class CompletionEvents {

    private final VerbsContext verbs;
    private final long queue;
    private int unacknowledged;
    private boolean refuses;

    CompletionEvents(VerbsContext verbs, long queue) {
        this.verbs = verbs;
        this.queue = queue;
    }

    /**
     * Counts an event. Returns false if the queue is being closed; the caller then acknowledges the event.
     */
    synchronized boolean count() {
        if (refuses) {
            return false;
        }
        unacknowledged++;
        return true;
    }

    /** Acknowledges all counted events and returns their number. */
    synchronized int acknowledge() {
        int count = unacknowledged;
        if (count > 0) {
            verbs.ackCompletionEvents(queue, count);
            unacknowledged = 0;
        }
        return count;
    }

    /** Acknowledges all counted events and counts no more. */
    synchronized void end() {
        refuses = true;
        acknowledge();
    }
}
