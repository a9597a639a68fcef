package org.kverbs.internal;

import java.util.ArrayList;
import java.util.List;

/**
 * Holds actions until they are taken out to be run, once and in the order in which they were added. Any thread can
 * call; no call waits for an action that runs.
 */
final class Actions {

    private final Action ends = new Action(() -> {});
    private boolean areTaken;

    /** An action in a ring of which {@link #ends} is a part; a ring of its own if it is in no list. */
    private final class Action implements Runnable {

        final Runnable work;
        Action previous = this;
        Action next = this;

        Action(Runnable work) {
            this.work = work;
        }

        /** Takes the action out of the list, unless it is out. */
        @Override
        public void run() {
            synchronized (ends) {
                previous.next = next;
                next.previous = previous;
                previous = this;
                next = this;
            }
        }
    }

    /**
     * Adds an action; runs it at once if the others were taken out.
     *
     * @return takes the action out again
     */
    Runnable add(Runnable work) {
        var action = new Action(work);
        synchronized (ends) {
            if (!areTaken) {
                action.previous = ends.previous;
                action.next = ends;
                ends.previous.next = action;
                ends.previous = action;
                return action;
            }
        }
        work.run();
        return action;
    }

    /** Takes all actions out, to be run by the caller. */
    List<Runnable> takeAll() {
        synchronized (ends) {
            areTaken = true;
            var all = new ArrayList<Runnable>(0);
            while (ends.next != ends) {
                all.add(ends.next.work);
                ends.next.run();
            }
            return all;
        }
    }
}
