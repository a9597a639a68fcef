package org.kverbs;

/** Takes completions from {@link CompletionQueue#poll(CompletionHandler, int)}. */
@FunctionalInterface
public interface CompletionHandler {

    /**
     * Called for each completion, in the queue's order.
     *
     * @param completion a view that is good until this returns; {@link WorkCompletion#copy} keeps it
     */
    void onCompletion(WorkCompletion completion);
}
