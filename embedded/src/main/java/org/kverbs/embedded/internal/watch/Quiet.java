package org.kverbs.embedded.internal.watch;

import java.util.ArrayDeque;

/** Keeps the unsignaled requests of a send queue that are done, but that the program cannot know to be done. */
public final class Quiet {

    private ArrayDeque<Posted> requests = new ArrayDeque<>(0);

    /**
     * Adds a request. If the list is as long as the queue, releases the oldest one. A card would refuse further posts
     * at that point.
     */
    public void add(Posted request, int most) {
        if (requests.size() == most) {
            requests.removeFirst().release();
        }
        requests.addLast(request);
    }

    /** Hands these requests to a signaled one, whose completion proves them done. */
    public void endAt(Posted signaled) {
        if (!requests.isEmpty()) {
            signaled.follows(requests);
            requests = new ArrayDeque<>();
        }
    }

    public void clear() {
        requests.clear();
    }
}
