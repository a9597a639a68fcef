package org.kverbs.embedded.internal.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.function.ToIntFunction;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.objects.CompletionCount;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.Quota;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.CountedOperations;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.internal.CompletionCounterLayout;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.spi.CompletionCounterVerbs;

/** Makes, reads and attaches the completion counters of an open context. Each call takes the engine's lock. */
final class EmbeddedCompletionCounters implements CompletionCounterVerbs {

    private final Engine engine;
    private final DeviceCalls calls;
    private final QueuePairVerbs queuePairs;
    private final Handles<CompletionCount> counters;
    private int made;

    EmbeddedCompletionCounters(Hca hca, Structures structures, QueuePairVerbs queuePairs) {
        this.engine = hca.engine;
        this.calls = new DeviceCalls(hca);
        this.queuePairs = queuePairs;
        this.counters = new Handles<>(
                structures, CompletionCounterLayout.SIZE, CompletionCounterLayout.HANDLE, Quota.none());
    }

    private int with(long counter, ToIntFunction<CompletionCount> action) {
        CompletionCount found = counters.get(counter);
        return found == null ? -Errno.EINVAL : action.applyAsInt(found);
    }

    @Override
    public int queryCapabilities(MemorySegment to) {
        to.set(JAVA_LONG, CompletionCounterLayout.CAPS_MAX_VALUE, -1L);
        to.set(JAVA_INT, CompletionCounterLayout.CAPS_MAX_COUNTERS, Limits.COMPLETION_COUNTERS);
        to.set(JAVA_INT, CompletionCounterLayout.CAPS_OPERATIONS, CountedOperations.ALL);
        return 0;
    }

    @Override
    public long create(MemorySegment init) {
        return calls.make(Operation.CREATE_COMPLETION_COUNTER, () -> {
            int type = init.get(JAVA_INT, CompletionCounterLayout.INIT_TYPE);
            boolean isKnown = type == CompletionCounterLayout.IBV_COMP_CNTR_TYPE_WRS
                    || type == CompletionCounterLayout.IBV_COMP_CNTR_TYPE_BYTES;
            if (!isKnown || init.get(JAVA_INT, CompletionCounterLayout.INIT_COMP_MASK) != 0
                    || init.get(JAVA_INT, CompletionCounterLayout.INIT_FLAGS) != 0) {
                return -Errno.EINVAL;
            }
            if (made == Limits.COMPLETION_COUNTERS) {
                return -Errno.ENOMEM;
            }
            long structure = counters.add(
                    at -> new CompletionCount(type == CompletionCounterLayout.IBV_COMP_CNTR_TYPE_BYTES));
            made += structure > 0 ? 1 : 0;
            return structure;
        });
    }

    @Override
    public int destroy(long counter) {
        return calls.call(Operation.DESTROY_COMPLETION_COUNTER, () -> with(counter, found -> {
            if (found.users > 0) {
                return -Errno.EBUSY;
            }
            counters.remove(counter);
            made--;
            return 0;
        }));
    }

    @Override
    public int set(long counter, Value which, long value) {
        return calls.call(() -> with(counter, found -> {
            if (which == Value.ERRORS) {
                found.errors = value;
            } else {
                found.completions = value;
            }
            return 0;
        }));
    }

    @Override
    public int increment(long counter, Value which, long amount) {
        return calls.call(() -> with(counter, found -> {
            if (which == Value.ERRORS) {
                found.errors += amount;
            } else {
                found.completions += amount;
            }
            return 0;
        }));
    }

    @Override
    public int read(long counter, Value which, MemorySegment value) {
        engine.enter(); // without an object for the action: programs read often
        try {
            CompletionCount found = counters.get(counter);
            if (found == null) {
                return -Errno.EINVAL;
            }
            value.set(JAVA_LONG, 0, which == Value.ERRORS ? found.errors : found.completions);
            return 0;
        } finally {
            engine.leave();
        }
    }

    @Override
    public int attach(long qp, long counter, MemorySegment attributes) {
        return calls.call(Operation.ATTACH_COMPLETION_COUNTER, () -> with(counter, found -> {
            Qp queuePair = queuePairs.queuePair(qp);
            int operations = attributes.get(JAVA_INT, CompletionCounterLayout.ATTACH_OPERATIONS);
            if (queuePair == null || operations == 0 || queuePair.state > IbvQpState.IBV_QPS_INIT) {
                return -Errno.EINVAL;
            }
            boolean isUnknown = attributes.get(JAVA_INT, CompletionCounterLayout.ATTACH_COMP_MASK) != 0
                    || (operations & ~CountedOperations.ALL) != 0;
            return isUnknown ? -Errno.EOPNOTSUPP : queuePair.counted.attach(found, operations);
        }));
    }
}
