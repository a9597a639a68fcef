package org.kverbs.embedded.internal.objects;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.internal.abi.IbvAsyncEvent;
import org.kverbs.internal.memory.Memory;

/** Queues the asynchronous events of an open context. */
public final class AsyncEvents {

    private record Raised(int type, long element) {}

    private final Channel<Raised> channel;

    public AsyncEvents(Engine engine) {
        this.channel = new Channel<>(engine);
    }

    /** Queues an event; called with the lock held. {@code element} is an object's address or a port. */
    public void raise(int type, long element) {
        channel.add(new Raised(type, element));
    }

    /** Removes the events of an object that is being destroyed; called with the lock held. */
    public void forget(long element) {
        channel.removeIf(each -> each.element == element);
    }

    /** Waits for an event and writes it as {@code struct ibv_async_event}. */
    public int await(MemorySegment event, long timeoutNanos) {
        return (int) channel.await(timeoutNanos, raised -> {
            Memory.putLong(event.address() + IbvAsyncEvent.ELEMENT, raised.element);
            Memory.putInt(event.address() + IbvAsyncEvent.EVENT_TYPE, raised.type);
            return 1;
        });
    }

    /** Ends all present and future waits. */
    public void wake() {
        channel.wake();
    }
}
