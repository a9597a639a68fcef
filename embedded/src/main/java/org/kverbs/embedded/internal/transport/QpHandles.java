package org.kverbs.embedded.internal.transport;

import java.util.ArrayList;
import java.util.List;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.memory.Memory;

/**
 * The handles of a queue pair: one for each context that has it, and for each time that a context opened it. A queue
 * pair has at least one until it is destroyed.
 */
public final class QpHandles {

    private final List<QpHandle> handles = new ArrayList<>(1);

    QpHandles(QpHandle first) {
        handles.add(first);
    }

    /** Lets another context, or this one again, have an XRC_RECV queue pair. */
    public void open(QpHandle handle) {
        handles.add(handle);
    }

    /**
     * Ends the handle with a structure. Returns whether it was the last one, so that the queue pair must be destroyed.
     */
    public boolean close(long structure) {
        return handles.removeIf(each -> each.structure() == structure && uncount(each)) && handles.isEmpty();
    }

    /** Ends all handles of a context; see {@link #close(long)}. */
    public boolean close(AsyncEvents context) {
        return handles.removeIf(each -> each.events() == context && uncount(each)) && handles.isEmpty();
    }

    private static boolean uncount(QpHandle handle) {
        if (handle.opened() != null) {
            handle.opened().users--;
        }
        return true;
    }

    /** Raises an event of this queue pair in each context that has it. */
    void raise(int event) {
        for (QpHandle each : handles) {
            each.events().raise(event, each.structure());
        }
    }

    /** Writes the state of the queue pair into the structure of each handle. */
    void showState(int state) {
        for (QpHandle each : handles) {
            Memory.putInt(each.structure() + IbvQp.STATE, state);
        }
    }
}
