package org.kverbs.embedded.internal.objects;

/** A queue pair, as its completion queues know it. */
public interface CompletionUser {

    /** A completion queue that it uses broke, and has lost completions. */
    void completionsLost();
}
