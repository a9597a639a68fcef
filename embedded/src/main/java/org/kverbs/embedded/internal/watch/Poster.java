package org.kverbs.embedded.internal.watch;

/** Names the queue pair, shared receive queue or work queue that a request was posted to. */
public final class Poster {

    final String device;
    /** 0 for a shared receive queue and for a work queue. */
    final int queuePair;

    public Poster(String device, int queuePair) {
        this.device = device;
        this.queuePair = queuePair;
    }
}
