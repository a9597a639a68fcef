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
    private final Libibverbs verbs;

    NativeCompletionCounters(Libibverbs verbs, long context) {
        this.verbs = verbs;
        this.context = context;
    }

    /**
     * Calls a function that returns 0 or errno. Returns 0 or -errno; -ENOSYS if this release does not have it. A
     * function with fewer parameters does not read the others.
     */
    private int call(String name, long a, long b, long c) {
        Function function = verbs.function(name, RELEASE);
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
        return call("_ibv_query_comp_cntr_caps", context, capabilities.address(), capabilities.byteSize());
    }

    // man 3 ibv_create_comp_cntr: pointer or NULL with errno
    @Override
    public long create(MemorySegment initAttributes) {
        Function function = verbs.function("ibv_create_comp_cntr", RELEASE);
        return function.isPresent()
                ? Downcalls.pointer(function.address(), context, initAttributes.address())
                : -Errno.ENOSYS;
    }

    // man 3 ibv_create_comp_cntr: 0 or errno, as the calls below
    @Override
    public int destroy(long counter) {
        return call("ibv_destroy_comp_cntr", counter, 0, 0);
    }

    @Override
    public int set(long counter, Value which, long value) {
        return call(which == Value.ERRORS ? "ibv_set_err_comp_cntr" : "ibv_set_comp_cntr", counter, value, 0);
    }

    @Override
    public int increment(long counter, Value which, long amount) {
        return call(which == Value.ERRORS ? "ibv_inc_err_comp_cntr" : "ibv_inc_comp_cntr", counter, amount, 0);
    }

    @Override
    public int read(long counter, Value which, MemorySegment value) {
        String name = which == Value.ERRORS ? "ibv_read_err_comp_cntr" : "ibv_read_comp_cntr";
        return call(name, counter, value.address(), 0);
    }

    @Override
    public int attach(long qp, long counter, MemorySegment attributes) {
        return call("ibv_qp_attach_comp_cntr", qp, counter, attributes.address());
    }
}
