package org.kverbs.embedded.internal.objects;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Semantics;
import org.kverbs.embedded.internal.watch.Posted;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvOpsFlags;
import org.kverbs.internal.abi.IbvOpsWr;
import org.kverbs.internal.abi.IbvOpsWrOpcode;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;

/**
 * The tagged buffers of a shared receive queue. An entry that is added while the program has unexpected messages that
 * it has not handled waits: it matches once the counts of both sides are equal. Guarded by the engine's lock.
 */
public final class TagMatcher implements CompletionUser {

    private final DeviceState device;
    private final Srq srq;
    public final Cq cq;
    private final int maxTags;
    private final int maxOperations;
    /** The buffers whose completion was not polled. */
    public final Occupancy occupied;
    /** The operations that no later signaled one proves done: as on mlx5, each takes a place until that is polled. */
    private final Occupancy operations;
    private final List<Entry> entries = new ArrayList<>();
    private int lastHandle;
    /** The unexpected messages, and those of them that the program has handled. */
    private int unexpected;
    private int handled;
    private boolean toldLost;

    private static final class Entry {
        final int handle;
        final long tag;
        final long mask;
        final ReceiveQueue.Receive receive;
        boolean matches;

        Entry(int handle, long tag, long mask, ReceiveQueue.Receive receive) {
            this.handle = handle;
            this.tag = tag;
            this.mask = mask;
            this.receive = receive;
        }
    }

    public TagMatcher(DeviceState device, Srq srq, Cq cq, int maxTags, int maxOperations) {
        this.device = device;
        this.srq = srq;
        this.cq = cq;
        this.maxTags = maxTags;
        this.maxOperations = maxOperations;
        this.occupied = new Occupancy(device.semantics, false);
        this.operations = new Occupancy(Semantics.STRICT, false); // Soft-RoCE, the other semantics, has no tags
    }

    /** Carries out a list of {@code struct ibv_ops_wr} up to the first that is refused. Returns 0 or -errno. */
    public int post(long first, long refused) {
        for (long at = first; at != 0; at = Memory.getLong(at + IbvOpsWr.NEXT)) {
            int result = carryOut(at);
            if (result < 0) {
                Memory.putLong(refused, at);
                return result;
            }
        }
        return 0;
    }

    private int carryOut(long at) {
        int flags = Memory.getInt(at + IbvOpsWr.FLAGS);
        boolean signaled = (flags & IbvOpsFlags.IBV_OPS_SIGNALED) != 0;
        if (operations.count() == maxOperations) {
            return Refusal.because(Errno.ENOMEM, "The list has room for " + maxOperations + " operations: ask for a"
                    + " completion of one at least as often, and poll it, which frees the places of those before it.");
        }
        int opcode = Memory.getInt(at + IbvOpsWr.OPCODE);
        int result = opcode == IbvOpsWrOpcode.IBV_WR_TAG_ADD ? check(at) : 0;
        if (result < 0 || opcode < 0 || opcode > IbvOpsWrOpcode.IBV_WR_TAG_SYNC) {
            return result < 0 ? result : -Errno.EINVAL;
        }
        if ((flags & IbvOpsFlags.IBV_OPS_TM_SYNC) != 0) {
            handled = Memory.getInt(at + IbvOpsWr.TM_UNEXPECTED_CNT);
        }
        if (handled == unexpected) {
            entries.forEach(entry -> entry.matches = true);
        }
        int status = IbvWcStatus.IBV_WC_SUCCESS;
        switch (opcode) {
            case IbvOpsWrOpcode.IBV_WR_TAG_ADD -> add(at);
            case IbvOpsWrOpcode.IBV_WR_TAG_DEL ->
                status = remove(Memory.getInt(at + IbvOpsWr.TM_HANDLE)) ? status : IbvWcStatus.IBV_WC_TM_ERR;
            default -> { } // the counts are all that a synchronization has
        }
        operations.take();
        if (!signaled) {
            operations.doneUnsignaled();
        } else {
            cq.add(Memory.getLong(at + IbvOpsWr.WR_ID), status, IbvWcOpcode.IBV_WC_TM_ADD + opcode, 0, 0, 0, 0,
                    syncFlag(), false, operations, null);
        }
        return 0;
    }

    /** Returns the flag that asks the program for its count of unexpected messages. */
    private int syncFlag() {
        return handled == unexpected ? 0 : IbvWcFlags.IBV_WC_TM_SYNC_REQ;
    }

    private int check(long at) {
        long mask = Memory.getLong(at + IbvOpsWr.TM_ADD_MASK);
        int count = Memory.getInt(at + IbvOpsWr.TM_ADD_NUM_SGE);
        if (count < 0 || count > device.limits.entries()) {
            return -Errno.EINVAL;
        }
        if ((Memory.getLong(at + IbvOpsWr.TM_ADD_TAG) & ~mask) != 0) {
            return Refusal.because(Errno.EINVAL, "No message has a tag with bits outside the mask: clear them.");
        }
        return occupied.count() < maxTags
                ? 0
                : Refusal.because(Errno.ENOMEM, "The list has " + maxTags + " buffers, for which it was made: take out"
                        + " others, or poll the completions of their messages.");
    }

    private void add(long at) {
        int count = Memory.getInt(at + IbvOpsWr.TM_ADD_NUM_SGE);
        var receive = new ReceiveQueue.Receive(count);
        receive.id = Memory.getLong(at + IbvOpsWr.TM_ADD_RECV_WR_ID);
        receive.fill(Memory.getLong(at + IbvOpsWr.TM_ADD_SG_LIST), count);
        if (device.watch != null) {
            receive.posted = watch(device.watch, receive, count);
        }
        var entry = new Entry(++lastHandle, Memory.getLong(at + IbvOpsWr.TM_ADD_TAG),
                Memory.getLong(at + IbvOpsWr.TM_ADD_MASK), receive);
        entry.matches = handled == unexpected;
        entries.add(entry);
        occupied.take();
        Memory.putInt(at + IbvOpsWr.TM_HANDLE, entry.handle);
    }

    private Posted watch(Watch watch, ReceiveQueue.Receive receive, int count) {
        Posted request = watch.post(srq.poster, receive.id, IbvWcOpcode.IBV_WC_TM_RECV, false, false, count);
        for (int i = 0; i < count; i++) {
            long bytes = Integer.toUnsignedLong(receive.lengths[i]);
            device.keys.watch(request, i, receive.lkeys[i], receive.addresses[i], bytes,
                    IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE, srq.pd);
        }
        return request;
    }

    private boolean remove(int handle) {
        for (Entry entry : entries) {
            if (entry.handle == handle) {
                entries.remove(entry);
                occupied.free(1);
                if (entry.receive.posted != null) {
                    entry.receive.posted.release();
                }
                return true;
            }
        }
        return false;
    }

    /** Moves the first buffer for a tag into {@code target}. Returns false if there is none. */
    public boolean take(long tag, ReceiveQueue.Receive target) {
        for (Entry entry : entries) {
            if (entry.matches && (tag & entry.mask) == entry.tag) {
                entries.remove(entry);
                target.copy(entry.receive);
                return true;
            }
        }
        return false;
    }

    /** Notes that an unexpected message has taken an ordinary receive. */
    public void countUnexpected() {
        unexpected++;
    }

    /** Completes a buffer of the list, or an ordinary receive of the queue for {@code isMatched} false. */
    public void complete(ReceiveQueue.Receive receive, boolean isMatched, int status, int opcode, int bytes, int word,
            int qpn, int sourceQp, int flags, boolean solicited) {
        Occupancy queue = isMatched ? occupied : srq.queue.occupied;
        cq.add(receive.id, status, opcode, bytes, word, qpn, sourceQp, flags | syncFlag(), solicited, queue,
                receive.posted);
    }

    @Override
    public void completionsLost() {
        if (!toldLost) {
            toldLost = true;
            srq.raise(IbvEventType.IBV_EVENT_SRQ_ERR);
        }
    }

    /** Returns the list of a shared receive queue, if it has one. */
    public static @Nullable TagMatcher of(@Nullable Srq srq) {
        return srq == null ? null : srq.tags;
    }
}
