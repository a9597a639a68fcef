package org.kverbs.embedded.internal.watch;

import java.util.ArrayDeque;

/** The unsignaled requests of a send queue that are done, though the program can't know it yet. */
public final class Quiet {

    private ArrayDeque<Posted> requests = new ArrayDeque<>(0);

    /**
     * Adds one. A card holds no more than its queue does and refuses the next; this one gives the oldest back as if it
     * had said that it is done.
     */
    public void add(Posted request, int most) {
        if (requests.size() == most) {
            requests.removeFirst().release();
        }
        requests.addLast(request);
    }

    /** The completion of this request says that they are done. */
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
