package org.kverbs;

import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AsyncEventType;

/**
 * An asynchronous event of a device, a port or an object ({@code struct ibv_async_event}). The event is already
 * acknowledged.
 *
 * @param type what happened; UNKNOWN for a type that is newer than this library
 * @param rawType {@code enum ibv_event_type}
 * @param source the queue pair, completion queue or shared receive queue that the event is about; null for an event of
 *     a port or of the device
 * @param port the port that the event is about, from 1; 0 for any other event
 */
public record AsyncEvent(AsyncEventType type, int rawType, @Nullable Resource source, int port) {

    /**
     * Returns this event if {@link AsyncEventType#isError} is false.
     *
     * @throws AsyncEventException if the event reports a lasting failure; the message says what to do
     */
    public AsyncEvent orThrow() {
        if (type.isError()) {
            throw new AsyncEventException(type, element());
        }
        return this;
    }

    String element() {
        if (source != null) {
            return source.describe();
        }
        return port > 0 ? "port " + port : "the device";
    }

    /** Returns one line, such as {@code PORT_ERR on port 1} or {@code QP_FATAL on queue pair 17 (RC) on rxe0}. */
    @Override
    public String toString() {
        return typeText() + " on " + element();
    }

    /** Returns the name of the type; for an unknown one its number. */
    String typeText() {
        return type == AsyncEventType.UNKNOWN ? "event " + rawType : type.name();
    }
}
