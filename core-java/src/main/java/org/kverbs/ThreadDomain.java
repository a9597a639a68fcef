package org.kverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvTdInitAttr;

/**
 * A thread domain ({@code struct ibv_td}): the promise that one thread at a time uses the objects that are made in it.
 * The driver then takes no locks for them and can give them hardware of their own, such as a doorbell register. A
 * {@link ProtectionDomain#parentDomain(ThreadDomain) parent domain} brings objects into it.
 *
 * <p>kverbs lets one thread at a time poll a queue and post to a queue. The program keeps the rest of the promise: no
 * thread uses one object of the domain while another thread uses another of its objects. The embedded device keeps its
 * locks.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_alloc_td}.
 */
public final class ThreadDomain extends Resource {

    private final Context context;
    private final long handle;

    private ThreadDomain(Context context, long handle) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Makes a thread domain; see {@link Context#threadDomain}. */
    static ThreadDomain make(Context context) {
        String operation = "ibv_alloc_td(" + context.device().name() + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvTdInitAttr.SIZE, Integer.BYTES);
            return create(
                    errno -> context.refusal(Feature.THREAD_DOMAIN, operation, errno),
                    () -> context.verbs.domains().allocThreadDomain(init),
                    h -> new ThreadDomain(context, h),
                    context);
        }
    }

    /** Returns the open device that this domain belongs to. */
    public Context context() {
        return context;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    private void destroy() {
        SystemErrors.check(
                "ibv_dealloc_td(" + context.device().name() + ")",
                context.verbs.domains().deallocThreadDomain(handle));
    }

    @Override
    public String describe() {
        return "thread domain on " + context.device().name();
    }
}
