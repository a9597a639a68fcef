package org.kverbs;

/** Receives completions from {@link CompletionQueue#poll(CompletionHandler, int)}, on the thread that polls. */
@FunctionalInterface
public interface CompletionHandler {

    /**
     * Handles one completion. The poll calls this once for each completion, in the order of the queue.
     *
     * @param completion a view that is valid until this method returns; {@link WorkCompletion#copy} makes a lasting
     *     copy
     */
    void onCompletion(WorkCompletion completion);
}
