package org.kverbs.embedded.internal.engine;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Orders events by time in a binary heap. Adding, moving or removing an event takes logarithmic time, and allocates
 * nothing but a larger array at times.
 */
final class EventHeap {

    private @Nullable Event[] events = new Event[64];
    private int size;
    private long added;

    /** Returns the next event, or null. */
    @Nullable Event first() {
        return events[0];
    }

    int size() {
        return size;
    }

    /** Adds the event, or moves it to another time. */
    void schedule(Event event, long time) {
        event.time = time;
        event.order = added++;
        if (event.index < 0) {
            if (size == events.length) {
                events = Arrays.copyOf(events, 2 * size);
            }
            place(event, size++);
        }
        settle(event);
    }

    /** Removes the event if it is in the heap. */
    void cancel(Event event) {
        int index = event.index;
        if (index < 0) {
            return;
        }
        Event last = at(--size);
        events[size] = null;
        event.index = -1;
        if (last != event) {
            place(last, index);
            settle(last);
        }
    }

    private void settle(Event event) {
        while (event.index > 0 && before(event, at((event.index - 1) / 2))) {
            swap(event, at((event.index - 1) / 2));
        }
        for (int child = 2 * event.index + 1; child < size; child = 2 * event.index + 1) {
            if (child + 1 < size && before(at(child + 1), at(child))) {
                child++;
            }
            if (!before(at(child), event)) {
                return;
            }
            swap(event, at(child));
        }
    }

    private static boolean before(Event a, Event b) {
        return a.time != b.time ? a.time < b.time : a.order < b.order;
    }

    private void swap(Event a, Event b) {
        int index = a.index;
        place(a, b.index);
        place(b, index);
    }

    private void place(Event event, int index) {
        events[index] = event;
        event.index = index;
    }

    private Event at(int index) {
        return Objects.requireNonNull(events[index]);
    }
}
