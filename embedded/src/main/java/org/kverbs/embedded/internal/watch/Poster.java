package org.kverbs.embedded.internal.watch;

/** Names the queue pair or shared receive queue that a request was posted to. */
public final class Poster {

    final String device;
    /** 0 for a shared receive queue. */
    final int queuePair;

    public Poster(String device, int queuePair) {
        this.device = device;
        this.queuePair = queuePair;
    }
}
