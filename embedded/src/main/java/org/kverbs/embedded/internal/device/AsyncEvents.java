package org.kverbs.embedded.internal.device;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.internal.abi.IbvAsyncEvent;
import org.kverbs.internal.ffm.Memory;

/** The asynchronous events of an open context. */
final class AsyncEvents {

    private record Raised(int type, long element) {}

    private final Channel<Raised> channel;

    AsyncEvents(Engine engine) {
        this.channel = new Channel<>(engine);
    }

    /** Lets an event wait for who asks; with the lock. {@code element} is an object's address or a port. */
    void raise(int type, long element) {
        channel.add(new Raised(type, element));
    }

    /** Takes the events of an object out that is destroyed; with the lock. */
    void forget(long element) {
        channel.removeIf(each -> each.element == element);
    }

    /** Waits for one and writes it as {@code struct ibv_async_event}. */
    int await(MemorySegment event, long timeoutNanos) {
        return (int) channel.await(timeoutNanos, raised -> {
            Memory.putLong(event.address() + IbvAsyncEvent.ELEMENT, raised.element);
            Memory.putInt(event.address() + IbvAsyncEvent.EVENT_TYPE, raised.type);
            return 1;
        });
    }

    /** Ends every wait, from now on. */
    void wake() {
        channel.wake();
    }
}
