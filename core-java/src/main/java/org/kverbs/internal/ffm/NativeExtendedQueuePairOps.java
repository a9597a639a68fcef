package org.kverbs.internal.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.kverbs.internal.DriverAddress;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.RequestLimits;
import org.kverbs.internal.SegmentedSend;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvQpEx;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.QueuePairOps;

/**
 * Posts sends by the calls of a {@code struct ibv_qp_ex} ({@code man 3 ibv_wr_post}). It passes each {@code struct
 * ibv_send_wr} of the list to the driver field by field, between a start and a completion that posts all of them or
 * none. Drivers hold a lock between the two. Therefore all requests are checked before the start, and if a call throws,
 * wr_abort releases the lock.
 */
final class NativeExtendedQueuePairOps extends NativeReceiveOps implements QueuePairOps {

    private final long qp;
    private final boolean datagrams;
    private final boolean namesQueues;
    private final int maxEntries;
    private final int maxInline;
    /**
     * Holds the gathered inline data of a request with several entries, since drivers treat a list of inline data
     * differently.
     */
    private final MemorySegment gathered;

    private final MemorySegment[] operations = new MemorySegment[IbvWrOpcode.IBV_WR_ATOMIC_WRITE + 1];
    private final MemorySegment start;
    private final MemorySegment complete;
    private final MemorySegment abort;
    private final MemorySegment setAddress;
    private final MemorySegment setQueue;
    private final MemorySegment setInline;
    private final MemorySegment setEntry;
    private final MemorySegment setEntries;
    /** What a queue pair of a driver's own type tells the driver the destination by; NULL for other queue pairs. */
    private MemorySegment setDriverAddress = MemorySegment.NULL;

    private long addressed;

    /**
     * Makes the data path of a queue pair.
     *
     * @param qp {@code struct ibv_qp_ex *}, which begins with the {@code struct ibv_qp}
     * @param optional which of IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_QP_EX_WITH_FLUSH and IBV_QP_EX_WITH_TSO the driver
     *     took; without the bit, the structure of an older library can end before the function
     */
    NativeExtendedQueuePairOps(long qp, int maxEntries, int maxInline, int optional, MemorySegment postReceive) {
        super(qp, postReceive, false); // another thread can have stopped at a safepoint with the queue pair's lock
        Downcalls.linkCalls(); // not between wr_start and wr_complete, where the driver holds its lock
        this.qp = qp;
        this.maxEntries = maxEntries;
        this.maxInline = maxInline;
        int type = Memory.getInt(qp + IbvQpEx.QP_BASE_QP_TYPE);
        datagrams = type == IbvQpType.IBV_QPT_UD;
        namesQueues = type == IbvQpType.IBV_QPT_XRC_SEND;
        gathered = Arena.ofAuto().allocate(Math.max(1, maxInline));
        Arrays.fill(operations, MemorySegment.NULL);
        operations[IbvWrOpcode.IBV_WR_RDMA_WRITE] = function(IbvQpEx.WR_RDMA_WRITE);
        operations[IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM] = function(IbvQpEx.WR_RDMA_WRITE_IMM);
        operations[IbvWrOpcode.IBV_WR_SEND] = function(IbvQpEx.WR_SEND);
        operations[IbvWrOpcode.IBV_WR_SEND_WITH_IMM] = function(IbvQpEx.WR_SEND_IMM);
        operations[IbvWrOpcode.IBV_WR_RDMA_READ] = function(IbvQpEx.WR_RDMA_READ);
        operations[IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP] = function(IbvQpEx.WR_ATOMIC_CMP_SWP);
        operations[IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD] = function(IbvQpEx.WR_ATOMIC_FETCH_ADD);
        operations[IbvWrOpcode.IBV_WR_LOCAL_INV] = function(IbvQpEx.WR_LOCAL_INV);
        operations[IbvWrOpcode.IBV_WR_BIND_MW] = function(IbvQpEx.WR_BIND_MW);
        operations[IbvWrOpcode.IBV_WR_SEND_WITH_INV] = function(IbvQpEx.WR_SEND_INV);
        if ((optional & IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_WRITE) != 0) {
            operations[IbvWrOpcode.IBV_WR_ATOMIC_WRITE] = function(IbvQpEx.WR_ATOMIC_WRITE);
        }
        if ((optional & PlacementExtensions.IBV_QP_EX_WITH_FLUSH) != 0) {
            operations[PlacementExtensions.IBV_WR_FLUSH] = function(PlacementExtensions.WR_FLUSH);
        }
        if ((optional & IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_TSO) != 0) {
            operations[IbvWrOpcode.IBV_WR_TSO] = function(IbvQpEx.WR_SEND_TSO);
        }
        start = function(IbvQpEx.WR_START);
        complete = function(IbvQpEx.WR_COMPLETE);
        abort = function(IbvQpEx.WR_ABORT);
        setAddress = function(IbvQpEx.WR_SET_UD_ADDR);
        setQueue = function(IbvQpEx.WR_SET_XRC_SRQN);
        setInline = function(IbvQpEx.WR_SET_INLINE_DATA);
        setEntry = function(IbvQpEx.WR_SET_SGE);
        setEntries = function(IbvQpEx.WR_SET_SGE_LIST);
    }

    /**
     * Makes each request carry its destination ({@link DriverAddress}), and returns this.
     *
     * @param object the first argument of the function
     * @param set tells the driver the destination; NULL for wr_set_ud_addr of this queue pair
     */
    NativeExtendedQueuePairOps addressing(long object, MemorySegment set) {
        addressed = set.address() == 0 ? qp : object;
        setDriverAddress = set.address() == 0 ? setAddress : set;
        return this;
    }

    private MemorySegment function(int offset) {
        return MemorySegment.ofAddress(Memory.getLong(qp + ContextTables.MUTEX_SHIFT + offset));
    }

    @Override
    public int postSend(long workRequests, long badWorkRequest) {
        for (long request = workRequests; request != 0; request = Memory.getLong(request + IbvSendWr.NEXT)) {
            if (!isGood(request)) {
                Memory.putLong(badWorkRequest, request);
                return -Errno.EINVAL;
            }
        }
        Downcalls.call(start, qp);
        boolean told = false;
        try {
            for (long request = workRequests; request != 0; request = Memory.getLong(request + IbvSendWr.NEXT)) {
                tell(request);
            }
            told = true;
        } finally {
            if (!told) {
                Downcalls.call(abort, qp);
            }
        }
        int result = Math.abs((int) Downcalls.call(complete, qp));
        if (result != 0) {
            Memory.putLong(badWorkRequest, workRequests);
        }
        return result == Errno.ENOSPC ? -Errno.ENOMEM : -result; // Soft-RoCE returns ENOSPC for a full queue
    }

    /** Checks what the plain call checks and what drivers do not always check in the extended calls. */
    private boolean isGood(long request) {
        int opcode = Memory.getInt(request + IbvSendWr.OPCODE);
        int entries = Memory.getInt(request + IbvSendWr.NUM_SGE);
        if (opcode < 0 || opcode >= operations.length || operations[opcode].address() == 0 || entries > maxEntries) {
            return false;
        }
        if (setDriverAddress.address() != 0 && Memory.getLong(request + DriverAddress.AH) == 0) {
            return false;
        }
        if (SegmentedSend.is(request)) { // a driver has the header in the place of inline data
            return !RequestLimits.isInline(request);
        }
        boolean isAligned = (Memory.getLong(request + IbvSendWr.WR_ATOMIC_REMOTE_ADDR) & 7) == 0;
        if (opcode == IbvWrOpcode.IBV_WR_ATOMIC_WRITE || opcode == PlacementExtensions.IBV_WR_FLUSH) {
            boolean isBare = entries == 0 && !RequestLimits.isInline(request);
            return isBare && (isAligned || opcode == PlacementExtensions.IBV_WR_FLUSH);
        }
        boolean atomic = opcode == IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP
                || opcode == IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD;
        boolean isAnswered = atomic || opcode == IbvWrOpcode.IBV_WR_RDMA_READ;
        long length = RequestLimits.length(request, entries);
        if (RequestLimits.isInline(request) && (isAnswered || length > maxInline)) {
            return false;
        }
        return !atomic || length >= Long.BYTES && isAligned;
    }

    private void tell(long request) {
        Memory.putLong(qp + ContextTables.MUTEX_SHIFT + IbvQpEx.WR_ID, Memory.getLong(request + IbvSendWr.WR_ID));
        Memory.putInt(qp + ContextTables.MUTEX_SHIFT + IbvQpEx.WR_FLAGS, Memory.getInt(request + IbvSendWr.SEND_FLAGS));
        int opcode = Memory.getInt(request + IbvSendWr.OPCODE);
        MemorySegment operation = operations[opcode];
        int word = Memory.getInt(request + IbvSendWr.IMM_DATA); // or the key to invalidate
        long address = Memory.getLong(request
                + IbvSendWr.WR_RDMA_REMOTE_ADDR); // the address of an atomic has the same offset
        int rkey = Memory.getInt(request + IbvSendWr.WR_RDMA_RKEY);
        int atomicKey = Memory.getInt(request + IbvSendWr.WR_ATOMIC_RKEY);
        long compareOrAdd = Memory.getLong(request + IbvSendWr.WR_ATOMIC_COMPARE_ADD);
        switch (opcode) {
            case IbvWrOpcode.IBV_WR_RDMA_WRITE,
                    IbvWrOpcode.IBV_WR_RDMA_READ -> Downcalls.call(operation, qp, rkey, address);
            case IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM -> Downcalls.call(operation, qp, rkey, address, word);
            case IbvWrOpcode.IBV_WR_SEND -> Downcalls.call(operation, qp);
            case IbvWrOpcode.IBV_WR_TSO -> Downcalls.call(
                    operation, qp, SegmentedSend.header(request), SegmentedSend.headerLength(request),
                    SegmentedSend.segmentSize(request));
            case IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP -> Downcalls.call(
                    operation, qp, atomicKey, address, compareOrAdd,
                    Memory.getLong(request + IbvSendWr.WR_ATOMIC_SWAP));
            case IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD ->
                    Downcalls.call(operation, qp, atomicKey, address, compareOrAdd);
            case IbvWrOpcode.IBV_WR_ATOMIC_WRITE -> {
                Downcalls.call(operation, qp, atomicKey, address, request + PlacementExtensions.VALUE);
                return; // buffers set now would replace its 8 bytes
            }
            case PlacementExtensions.IBV_WR_FLUSH -> {
                Downcalls.call(operation, qp, atomicKey, address,
                        Memory.getLong(request + PlacementExtensions.LENGTH),
                        Memory.getInt(request + PlacementExtensions.TYPE),
                        Memory.getInt(request + PlacementExtensions.LEVEL));
                return;
            }
            case IbvWrOpcode.IBV_WR_BIND_MW -> {
                long window = Memory.getLong(request + IbvSendWr.BIND_MW_MW);
                int key = Memory.getInt(request + IbvSendWr.BIND_MW_RKEY);
                Downcalls.call(operation, qp, window, key, request + IbvSendWr.BIND_MW_BIND_INFO);
                return;
            }
            case IbvWrOpcode.IBV_WR_LOCAL_INV -> {
                Downcalls.call(operation, qp, word);
                return;
            }
            default -> Downcalls.call(operation, qp, word); // a send with immediate or invalidate
        }
        if (datagrams) {
            int number = Memory.getInt(request + IbvSendWr.WR_UD_REMOTE_QPN);
            int qkey = Memory.getInt(request + IbvSendWr.WR_UD_REMOTE_QKEY);
            Downcalls.call(setAddress, qp, Memory.getLong(request + IbvSendWr.WR_UD_AH), number, qkey);
        }
        if (namesQueues) {
            Downcalls.call(setQueue, qp, Memory.getInt(request + IbvSendWr.QP_TYPE_XRC_REMOTE_SRQN));
        }
        if (setDriverAddress.address() != 0) {
            Downcalls.call(
                    setDriverAddress,
                    addressed,
                    Memory.getLong(request + DriverAddress.AH),
                    Memory.getInt(request + DriverAddress.NUMBER),
                    Memory.getLong(request + DriverAddress.KEY));
        }
        tellData(request);
    }

    /** Passes the buffers of a request. A request without buffers needs this call too. */
    private void tellData(long request) {
        int entries = Memory.getInt(request + IbvSendWr.NUM_SGE);
        long first = Memory.getLong(request + IbvSendWr.SG_LIST);
        long address = entries == 0 ? 0 : Memory.getLong(first + IbvSge.ADDR);
        int length = entries == 0 ? 0 : Memory.getInt(first + IbvSge.LENGTH);
        int lkey = entries == 0 ? 0 : Memory.getInt(first + IbvSge.LKEY);
        if (RequestLimits.isInline(request)) {
            if (entries > 1) {
                length = gather(first, entries);
                address = gathered.address();
            }
            Downcalls.call(setInline, qp, address, length);
        } else if (entries > 1) {
            Downcalls.call(setEntries, qp, entries, first);
        } else {
            Downcalls.call(setEntry, qp, lkey, address, length);
        }
    }

    /** Copies the inline data of several entries into one place. The driver makes its own copy at once. */
    private int gather(long entry, int entries) {
        int length = 0;
        for (int i = 0; i < entries; i++, entry += IbvSge.SIZE) {
            int bytes = Memory.getInt(entry + IbvSge.LENGTH);
            Memory.copy(Memory.getLong(entry + IbvSge.ADDR), gathered.address() + length, bytes);
            length += bytes;
        }
        return length;
    }
}
