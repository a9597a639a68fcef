package org.kverbs.embedded.internal.objects;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.internal.abi.IbvAsyncEvent;
import org.kverbs.internal.ffm.Memory;

/** The asynchronous events of an open context. */
public final class AsyncEvents {

    private record Raised(int type, long element) {}

    private final Channel<Raised> channel;

    public AsyncEvents(Engine engine) {
        this.channel = new Channel<>(engine);
    }

    /** Lets an event wait for who asks; with the lock. {@code element} is an object's address or a port. */
    public void raise(int type, long element) {
        channel.add(new Raised(type, element));
    }

    /** Takes the events of an object out that is destroyed; with the lock. */
    public void forget(long element) {
        channel.removeIf(each -> each.element == element);
    }

    /** Waits for one and writes it as {@code struct ibv_async_event}. */
    public int await(MemorySegment event, long timeoutNanos) {
        return (int) channel.await(timeoutNanos, raised -> {
            Memory.putLong(event.address() + IbvAsyncEvent.ELEMENT, raised.element);
            Memory.putInt(event.address() + IbvAsyncEvent.EVENT_TYPE, raised.type);
            return 1;
        });
    }

    /** Ends every wait, from now on. */
    public void wake() {
        channel.wake();
    }
}
