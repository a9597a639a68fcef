package org.kverbs;

import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AsyncEventType;

/**
 * Something that happened to a device, a port or an object without being asked for ({@code struct ibv_async_event}). It
 * is acknowledged already.
 *
 * @param type what happened; UNKNOWN for a type that is newer than this library
 * @param rawType {@code enum ibv_event_type}
 * @param source the queue pair, completion queue or shared receive queue it happened to; null for a port or device
 *     event
 * @param port the port it happened to, from 1; 0 if it is no port event
 */
public record AsyncEvent(AsyncEventType type, int rawType, @Nullable Resource source, int port) {

    /**
     * Returns this if it is mere news.
     *
     * @throws AsyncEventException if something failed and stays failed, with what to do
     */
    public AsyncEvent orThrow() {
        if (type.isError()) {
            throw new AsyncEventException(type, element());
        }
        return this;
    }

    private String element() {
        if (source != null) {
            return source.describe();
        }
        return port > 0 ? "port " + port : "the device";
    }

    /** One line: {@code PORT_ERR on port 1}, {@code QP_FATAL on queue pair 17 (RC) on rxe0}. */
    @Override
    public String toString() {
        String what = type == AsyncEventType.UNKNOWN ? "event " + rawType : type.name();
        return what + " on " + element();
    }
}
