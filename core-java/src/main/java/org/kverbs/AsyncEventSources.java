package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AsyncEventType;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAsyncEvent;
import org.kverbs.internal.jfr.FlightRecords;

/** The objects of a context that asynchronous events can name, and the wait for an event. Safe for any thread. */
final class AsyncEventSources {

    /** By the address of their C structure. */
    final Map<Long, Resource> sources = new ConcurrentHashMap<>();

    void add(long handle, Resource source) {
        sources.put(handle, source);
    }

    /** Removes an object that is destroyed, unless a new one already has its address. */
    void remove(long handle, Resource source) {
        sources.remove(handle, source);
    }

    /** See {@link Context#awaitAsyncEvent}. */
    @Nullable AsyncEvent await(Context context, Duration timeout) throws InterruptedException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = arena.allocate(IbvAsyncEvent.SIZE, JAVA_LONG.byteAlignment());
            context.lifetime.enter();
            try {
                int result = context.verbs.awaitAsyncEvent(event, TimeUnit.NANOSECONDS.convert(timeout));
                if (result == -Errno.EINTR) {
                    Thread.interrupted();
                    throw new InterruptedException("interrupted while waiting for an event of " + context.describe());
                }
                SystemErrors.check("ibv_get_async_event(" + context.device().name() + ")", result);
                if (result == 0) {
                    if (!context.isOpen()) {
                        throw context.closed();
                    }
                    return null;
                }
                int code = event.get(JAVA_INT, IbvAsyncEvent.EVENT_TYPE);
                Resource source = sources.get(event.get(JAVA_LONG, IbvAsyncEvent.ELEMENT));
                int port = event.get(JAVA_INT, IbvAsyncEvent.ELEMENT_PORT_NUM);
                context.verbs.ackAsyncEvent(event);
                AsyncEventType type = AsyncEventType.of(code);
                var taken = new AsyncEvent(
                        type, code, type.isPortEvent() ? null : source, type.isPortEvent() ? port : 0);
                FlightRecords.asyncEvent(context.device().name(), taken.typeText(), taken.element());
                return taken;
            } finally {
                context.lifetime.exit();
            }
        }
    }
}
