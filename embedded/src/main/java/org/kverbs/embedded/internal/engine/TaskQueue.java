package org.kverbs.embedded.internal.engine;

import org.jspecify.annotations.Nullable;

/** Queues tasks in the order in which they were added, linked by themselves. A task is in at most one queue. */
final class TaskQueue {

    private @Nullable Task first;
    private @Nullable Task last;

    void add(Task task) {
        if (last == null) {
            first = task;
        } else {
            last.next = task;
        }
        last = task;
    }

    /** Removes and returns the task that was added first; null if the queue is empty. */
    @Nullable Task poll() {
        Task task = first;
        if (task != null) {
            first = task.next;
            task.next = null;
            if (first == null) {
                last = null;
            }
        }
        return task;
    }

    boolean isEmpty() {
        return first == null;
    }
}
