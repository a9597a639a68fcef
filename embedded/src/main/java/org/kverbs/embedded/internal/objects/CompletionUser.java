package org.kverbs.embedded.internal.objects;

/** Represents a queue pair to its completion queues. */
public interface CompletionUser {

    /** Notes that a completion queue of this queue pair overran and lost completions. */
    void completionsLost();
}
