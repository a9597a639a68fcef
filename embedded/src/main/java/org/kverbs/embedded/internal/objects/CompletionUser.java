package org.kverbs.embedded.internal.objects;

/** Represents a queue pair, or a shared receive queue of XRC, to its completion queues. */
public interface CompletionUser {

    /** Notes that a completion queue of this queue pair or queue overran and lost completions. */
    void completionsLost();
}
