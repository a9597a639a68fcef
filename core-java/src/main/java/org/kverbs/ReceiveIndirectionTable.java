package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.abi.IbvRwqIndTableInitAttr;
import org.kverbs.spi.WorkQueueVerbs;

/**
 * A table of work queues, among which the hash of a frame chooses ({@code struct ibv_rwq_ind_table}). {@link
 * Context#indirectionTable} makes it; {@link QueuePairInitAttributes#spreading} makes a queue pair use it. A queue can
 * stand in several entries, so that it gets a larger share, and in several tables.
 *
 * <p>The table keeps its work queues: closing one of them closes the table first, and the queue pairs of the table
 * before that.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_create_rwq_ind_table}.
 */
public final class ReceiveIndirectionTable extends Resource {

    private final Context context;
    private final WorkQueueVerbs verbs;
    private final List<WorkQueue> entries;
    private final long handle;

    private ReceiveIndirectionTable(Context context, List<WorkQueue> entries, long handle) {
        super(new Lifetime(
                Turn.USERS,
                entries.stream().distinct().map(queue -> queue.lifetime).toArray(Lifetime[]::new)));
        this.context = context;
        this.verbs = context.verbs.workQueues();
        this.entries = entries;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    static ReceiveIndirectionTable make(Context context, List<WorkQueue> queues) {
        List<WorkQueue> entries = List.copyOf(queues);
        int size = entries.size();
        if (Integer.bitCount(size) != 1) {
            throw new IllegalArgumentException("an indirection table of " + size
                    + " entries: their number must be a power of 2; let a work queue stand in several entries");
        }
        for (WorkQueue queue : entries) {
            if (queue.protectionDomain().context() != context) {
                throw new IllegalArgumentException(queue.describe() + " belongs to another open device than "
                        + "the table; make both from the same context");
            }
        }
        String operation = "ibv_create_rwq_ind_table(" + context.device().name() + ", entries=" + size + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment table = arena.allocate(JAVA_LONG, size);
            for (int i = 0; i < size; i++) {
                table.setAtIndex(JAVA_LONG, i, entries.get(i).handle());
            }
            MemorySegment init = arena.allocate(IbvRwqIndTableInitAttr.SIZE, JAVA_LONG.byteAlignment());
            init.set(JAVA_INT, IbvRwqIndTableInitAttr.LOG_IND_TBL_SIZE, Integer.numberOfTrailingZeros(size));
            init.set(JAVA_LONG, IbvRwqIndTableInitAttr.IND_TBL, table.address());
            return create(
                    errno -> WorkQueue.refusal(context, operation, errno),
                    () -> context.verbs.workQueues().createIndirectionTable(init),
                    h -> new ReceiveIndirectionTable(context, entries, h),
                    entries.stream().distinct().toArray(Resource[]::new));
        }
    }

    /** Returns the open device that the table belongs to. */
    public Context context() {
        return context;
    }

    /** Returns the work queues by the index of their entries. */
    public List<WorkQueue> entries() {
        return entries;
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
                "ibv_destroy_rwq_ind_table(" + describe() + ")", verbs.destroyIndirectionTable(handle));
    }

    @Override
    public String describe() {
        return "indirection table of " + entries.size() + " entries on " + context.device().name();
    }
}
