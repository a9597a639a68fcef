package org.kverbs.internal.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.CompletionCounterLayout;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.ffm.NativeLibrary.Function;
import org.kverbs.spi.CompletionCounterVerbs;

/** Completion counters of a device of libibverbs, which has their functions since rdma-core 65. */
final class NativeCompletionCounters implements CompletionCounterVerbs {

    private static final int RELEASE = 65;

    private final long context;
    private final Function query;
    private final Function create;
    private final Function destroy;
    private final Function attach;
    private final Function set;
    private final Function setErrors;
    private final Function increment;
    private final Function incrementErrors;
    private final Function read;
    private final Function readErrors;

    NativeCompletionCounters(Libibverbs verbs, long context) {
        this.context = context;
        this.query = verbs.function("_ibv_query_comp_cntr_caps", RELEASE);
        this.create = verbs.function("ibv_create_comp_cntr", RELEASE);
        this.destroy = verbs.function("ibv_destroy_comp_cntr", RELEASE);
        this.attach = verbs.function("ibv_qp_attach_comp_cntr", RELEASE);
        this.set = verbs.function("ibv_set_comp_cntr", RELEASE);
        this.setErrors = verbs.function("ibv_set_err_comp_cntr", RELEASE);
        this.increment = verbs.function("ibv_inc_comp_cntr", RELEASE);
        this.incrementErrors = verbs.function("ibv_inc_err_comp_cntr", RELEASE);
        this.read = verbs.function("ibv_read_comp_cntr", RELEASE);
        this.readErrors = verbs.function("ibv_read_err_comp_cntr", RELEASE);
    }

    /**
     * Calls a function that returns 0 or errno. Returns 0 or -errno; -ENOSYS if this release does not have it. A
     * function with fewer parameters does not read the others.
     */
    private static int call(Function function, long a, long b, long c) {
        return function.isPresent()
                ? Downcalls.status(Downcalls.withErrno(function.address(), a, b, c))
                : -Errno.ENOSYS;
    }

    /** Returns whether the driver has counters. */
    boolean areThere() {
        try (Arena arena = Arena.ofConfined()) {
            return queryCapabilities(arena.allocate(CompletionCounterLayout.CAPS_SIZE, Long.BYTES)) >= 0;
        }
    }

    // man 3 ibv_query_comp_cntr_caps: 0 or errno; verbs.h passes the size
    @Override
    public int queryCapabilities(MemorySegment capabilities) {
        return call(query, context, capabilities.address(), capabilities.byteSize());
    }

    // man 3 ibv_create_comp_cntr: pointer or NULL with errno
    @Override
    public long create(MemorySegment initAttributes) {
        return create.isPresent()
                ? Downcalls.pointer(create.address(), context, initAttributes.address())
                : -Errno.ENOSYS;
    }

    // man 3 ibv_create_comp_cntr: 0 or errno, as the calls below
    @Override
    public int destroy(long counter) {
        return call(destroy, counter, 0, 0);
    }

    @Override
    public int set(long counter, Value which, long value) {
        return call(which == Value.ERRORS ? setErrors : set, counter, value, 0);
    }

    @Override
    public int increment(long counter, Value which, long amount) {
        return call(which == Value.ERRORS ? incrementErrors : increment, counter, amount, 0);
    }

    @Override
    public int read(long counter, Value which, MemorySegment value) {
        return call(which == Value.ERRORS ? readErrors : read, counter, value.address(), 0);
    }

    @Override
    public int attach(long qp, long counter, MemorySegment attributes) {
        return call(attach, qp, counter, attributes.address());
    }
}
