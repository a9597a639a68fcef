package org.kverbs.embedded.internal.watch;

/** A queue pair or a shared receive queue, as who has posted something. */
public final class Poster {

    final String device;
    /** 0 for a shared receive queue. */
    final int queuePair;

    public Poster(String device, int queuePair) {
        this.device = device;
        this.queuePair = queuePair;
    }
}
