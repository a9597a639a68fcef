package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.CompletionCount;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvWcOpcode;

/** The completion counters that are attached to a queue pair, one for each operation. */
public final class CountedOperations {

    private static final int SEND = 0;
    private static final int RECEIVE = 1;
    private static final int READ = 2;
    private static final int REMOTE_READ = 3;
    private static final int WRITE = 4;
    private static final int REMOTE_WRITE = 5;
    private static final int OPERATIONS = 6;

    /** All bits of {@code enum ibv_qp_attach_comp_cntr_op}. */
    public static final int ALL = (1 << OPERATIONS) - 1;

    private final @Nullable CompletionCount[] counters = new CompletionCount[OPERATIONS];
    private boolean isAttached;

    CountedOperations() {}

    /** Attaches a counter to operations. Returns 0 or -errno. */
    public int attach(CompletionCount counter, int operations) {
        for (int i = 0; i < OPERATIONS; i++) {
            if ((operations & 1 << i) != 0 && counters[i] != null) {
                return -Errno.EBUSY;
            }
        }
        for (int i = 0; i < OPERATIONS; i++) {
            if ((operations & 1 << i) != 0) {
                counters[i] = counter;
                isAttached = true;
                counter.users++;
            }
        }
        return 0;
    }

    /** Tells whether a counter is attached. */
    boolean isAttached() {
        return isAttached;
    }

    /** Detaches all counters. */
    void detach() {
        isAttached = false;
        for (int i = 0; i < OPERATIONS; i++) {
            CompletionCount counter = counters[i];
            if (counter != null) {
                counter.users--;
                counters[i] = null;
            }
        }
    }

    /** Counts a request of this side by the opcode of its completion. */
    void sent(int opcode, long bytes, boolean failed) {
        switch (opcode) {
            case IbvWcOpcode.IBV_WC_SEND -> count(SEND, bytes, failed);
            case IbvWcOpcode.IBV_WC_RDMA_READ -> count(READ, bytes, failed);
            case IbvWcOpcode.IBV_WC_RDMA_WRITE -> count(WRITE, bytes, failed);
            default -> { } // no counter is for atomics, windows and placement
        }
    }

    void received(long bytes, boolean failed) {
        count(RECEIVE, bytes, failed);
    }

    void read(long bytes) {
        count(REMOTE_READ, bytes, false);
    }

    void written(long bytes) {
        count(REMOTE_WRITE, bytes, false);
    }

    private void count(int operation, long bytes, boolean failed) {
        CompletionCount counter = counters[operation];
        if (counter != null) {
            counter.count(bytes, failed);
        }
    }
}
