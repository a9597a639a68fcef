package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.Wq;
import org.kverbs.embedded.internal.transport.WqTable;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvRwqIndTable;
import org.kverbs.internal.abi.IbvRwqIndTableInitAttr;
import org.kverbs.internal.abi.IbvWq;
import org.kverbs.internal.abi.IbvWqAttr;
import org.kverbs.internal.abi.IbvWqAttrMask;
import org.kverbs.internal.abi.IbvWqFlags;
import org.kverbs.internal.abi.IbvWqInitAttr;
import org.kverbs.internal.abi.IbvWqInitAttrMask;
import org.kverbs.internal.abi.IbvWqType;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ReceiveOps;
import org.kverbs.spi.WorkQueueVerbs;

/**
 * Makes and finds the work queues of an open context and their indirection tables. Each call takes the engine's lock.
 */
final class EmbeddedWorkQueues implements WorkQueueVerbs {

    private final Hca hca;
    private final DeviceCalls calls;
    private final AsyncEvents events;
    private final Domains domains;
    private final CompletionVerbs completions;
    private final Handles<Wq> queues;
    private final Handles<WqTable> tables;

    EmbeddedWorkQueues(
            Hca hca,
            Structures structures,
            AsyncEvents events,
            Domains domains,
            CompletionVerbs completions,
            Handles<WqTable> tables) {
        this.hca = hca;
        this.calls = new DeviceCalls(hca);
        this.events = events;
        this.domains = domains;
        this.completions = completions;
        this.queues = new Handles<>(structures, IbvWq.SIZE, IbvWq.HANDLE, hca.quotas.workQueues);
        this.tables = tables;
    }

    /** Makes the table of a context's indirection tables. */
    static Handles<WqTable> table(Hca hca, Structures structures) {
        return new Handles<>(
                structures, IbvRwqIndTable.SIZE, IbvRwqIndTable.IND_TBL_HANDLE, hca.quotas.indirectionTables);
    }

    /** Ends the work queues; called with the lock held when the device is closed. */
    void close() {
        queues.forEach(this::end);
    }

    private void end(Wq queue) {
        queue.reset();
        queue.cq.users.remove(queue);
        hca.workQueues.remove(queue.number);
    }

    @Override
    public long createWorkQueue(MemorySegment init) {
        return calls.make(Operation.CREATE_WORK_QUEUE, () -> create(init.address()));
    }

    private long create(long at) {
        if (!hca.link.carriesFrames()) {
            return -Errno.EOPNOTSUPP;
        }
        long pd = Memory.getLong(at + IbvWqInitAttr.PD);
        Pd domain = domains.get(pd);
        Cq cq = completions.queue(Memory.getLong(at + IbvWqInitAttr.CQ));
        int mask = Memory.getInt(at + IbvWqInitAttr.COMP_MASK);
        int flags = (mask & IbvWqInitAttrMask.IBV_WQ_INIT_ATTR_FLAGS) == 0
                ? 0 : Memory.getInt(at + IbvWqInitAttr.CREATE_FLAGS);
        int most = Memory.getInt(at + IbvWqInitAttr.MAX_WR);
        int entries = Memory.getInt(at + IbvWqInitAttr.MAX_SGE);
        boolean fits = most >= 1 && most <= hca.limits.workRequests()
                && entries >= 0 && entries <= hca.limits.entries();
        if (domain == null || cq == null || !fits
                || Memory.getInt(at + IbvWqInitAttr.WQ_TYPE) != IbvWqType.IBV_WQT_RQ
                || (mask & ~IbvWqInitAttrMask.IBV_WQ_INIT_ATTR_FLAGS) != 0) {
            return -Errno.EINVAL;
        }
        if ((flags & ~Limits.WORK_QUEUE_FLAGS) != 0) {
            return Refusal.because(
                    Errno.EOPNOTSUPP,
                    "The work queues of the embedded device have the flags CVLAN_STRIPPING and SCATTER_FCS alone.");
        }
        int given = Math.max(1, entries);
        long structure = queues.add(it -> new Wq(hca, events, it, domain, cq, most, given, flags));
        if (structure > 0) {
            Wq made = queues.require(structure);
            domain.users++;
            cq.users.add(made);
            hca.workQueues.put(made.number, made);
            Memory.putLong(structure + IbvWq.PD, pd);
            Memory.putLong(structure + IbvWq.CQ, cq.address);
            Memory.putInt(structure + IbvWq.WQ_NUM, made.number);
            Memory.putInt(at + IbvWqInitAttr.MAX_SGE, given);
        }
        return structure;
    }

    @Override
    public int modifyWorkQueue(long wq, MemorySegment attributes) {
        return calls.call(Operation.MODIFY_WORK_QUEUE, () -> modify(queues.get(wq), attributes.address()));
    }

    private static int modify(@Nullable Wq queue, long given) {
        int mask = Memory.getInt(given + IbvWqAttr.ATTR_MASK);
        int known = IbvWqAttrMask.IBV_WQ_ATTR_STATE
                | IbvWqAttrMask.IBV_WQ_ATTR_CURR_STATE
                | IbvWqAttrMask.IBV_WQ_ATTR_FLAGS;
        boolean assumes = (mask & IbvWqAttrMask.IBV_WQ_ATTR_CURR_STATE) != 0;
        if (queue == null
                || (mask & ~known) != 0
                || assumes && Memory.getInt(given + IbvWqAttr.CURR_WQ_STATE) != queue.state()) {
            return -Errno.EINVAL;
        }
        int flags = (mask & IbvWqAttrMask.IBV_WQ_ATTR_FLAGS) == 0 ? 0 : Memory.getInt(given + IbvWqAttr.FLAGS_MASK);
        if ((flags & ~IbvWqFlags.IBV_WQ_FLAGS_CVLAN_STRIPPING) != 0) {
            return Refusal.because(
                    Errno.EOPNOTSUPP, "Of the flags of a work queue, only CVLAN_STRIPPING can be changed later.");
        }
        int result = (mask & IbvWqAttrMask.IBV_WQ_ATTR_STATE) == 0
                ? 0 : queue.enter(Memory.getInt(given + IbvWqAttr.WQ_STATE));
        if (result == 0) {
            queue.flags(flags, Memory.getInt(given + IbvWqAttr.FLAGS));
        }
        return result;
    }

    @Override
    public int destroyWorkQueue(long wq) {
        return calls.call(Operation.DESTROY_WORK_QUEUE, () -> {
            Wq found = queues.get(wq);
            if (found == null || found.users > 0) {
                return found == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            end(found);
            found.pd().users--;
            events.forget(wq);
            queues.remove(wq);
            return 0;
        });
    }

    @Override
    public ReceiveOps workQueueOps(long wq) {
        return calls.find(() -> queues.require(wq));
    }

    @Override
    public long createIndirectionTable(MemorySegment init) {
        return calls.make(Operation.CREATE_INDIRECTION_TABLE, () -> createTable(init.address()));
    }

    private long createTable(long at) {
        if (!hca.link.carriesFrames()) {
            return -Errno.EOPNOTSUPP;
        }
        int log = Memory.getInt(at + IbvRwqIndTableInitAttr.LOG_IND_TBL_SIZE);
        long pointers = Memory.getLong(at + IbvRwqIndTableInitAttr.IND_TBL);
        if (log < 0 || log > Limits.LOG_TABLE || pointers == 0
                || Memory.getInt(at + IbvRwqIndTableInitAttr.COMP_MASK) != 0) {
            return -Errno.EINVAL;
        }
        var entries = new Wq[1 << log];
        for (int i = 0; i < entries.length; i++) {
            Wq queue = queues.get(Memory.getLong(pointers + (long) i * Long.BYTES));
            if (queue == null) {
                return -Errno.EINVAL;
            }
            entries[i] = queue;
        }
        var made = new WqTable(entries);
        long structure = tables.add(it -> made);
        if (structure > 0) {
            made.countUsers(1);
        }
        return structure;
    }

    @Override
    public int destroyIndirectionTable(long table) {
        return calls.call(Operation.DESTROY_INDIRECTION_TABLE, () -> {
            WqTable found = tables.get(table);
            if (found == null || found.users > 0) {
                return found == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            found.countUsers(-1);
            tables.remove(table);
            return 0;
        });
    }
}
