package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvCqEx;
import org.kverbs.internal.abi.IbvCreateCqWcFlags;
import org.kverbs.internal.abi.IbvPollCqAttr;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionExtras;
import org.kverbs.spi.CompletionQueueOps;

/**
 * Polls a {@code struct ibv_cq_ex} and reads its fields one by one into {@code struct ibv_wc}. Drivers hold a lock from
 * the start to the end of a poll, and a thread can stop at a safepoint between the calls, so none of them is a critical
 * call.
 */
final class NativeExtendedCompletionQueueOps implements CompletionQueueOps {

    /** The attributes of a poll without options. */
    private static final MemorySegment NO_ATTRIBUTES = Arena.global()
            .allocate(IbvPollCqAttr.SIZE, JAVA_INT.byteAlignment());

    private static final int SENDER = IbvCreateCqWcFlags.IBV_WC_EX_WITH_SLID | IbvCreateCqWcFlags.IBV_WC_EX_WITH_SL;

    private final long cq;
    private final CompletionQueueOps plain;
    private final MemorySegment startPoll;
    private final MemorySegment endPoll;
    private final MemorySegment readOpcode;
    private final MemorySegment readVendorErr;
    private final MemorySegment readByteLen;
    private final MemorySegment readImmData;
    private final MemorySegment readQpNum;
    private final MemorySegment readSrcQp;
    private final MemorySegment readWcFlags;
    private final MemorySegment readSlid;
    private final MemorySegment readSl;
    private final MemorySegment readDlidPathBits;
    /** False for a queue of mlx4 with timestamps, which was made without the sender's LID and service level. */
    private final boolean hasSender;
    private final NativeCompletionExtras extraFields;
    /** Reads what only the driver's functions read; null for none. */
    private final @Nullable NativeDriverFields driverFields;

    /** @param fields the {@code wc_flags} that the queue was made with */
    NativeExtendedCompletionQueueOps(long cq, CompletionQueueOps plain, int fields) {
        this(cq, plain, fields, null);
    }

    NativeExtendedCompletionQueueOps(
            long cq, CompletionQueueOps plain, int fields, @Nullable NativeDriverFields driverFields) {
        this.cq = cq;
        this.driverFields = driverFields;
        this.plain = plain;
        this.extraFields = new NativeCompletionExtras(cq, fields);
        this.startPoll = function(IbvCqEx.START_POLL);
        this.endPoll = function(IbvCqEx.END_POLL);
        this.readOpcode = function(IbvCqEx.READ_OPCODE);
        this.readVendorErr = function(IbvCqEx.READ_VENDOR_ERR);
        this.readByteLen = function(IbvCqEx.READ_BYTE_LEN);
        this.readImmData = function(IbvCqEx.READ_IMM_DATA);
        this.readQpNum = function(IbvCqEx.READ_QP_NUM);
        this.readSrcQp = function(IbvCqEx.READ_SRC_QP);
        this.readWcFlags = function(IbvCqEx.READ_WC_FLAGS);
        this.readSlid = function(IbvCqEx.READ_SLID);
        this.readSl = function(IbvCqEx.READ_SL);
        this.readDlidPathBits = function(IbvCqEx.READ_DLID_PATH_BITS);
        this.hasSender = (fields & SENDER) == SENDER;
    }

    private MemorySegment function(int offset) {
        return MemorySegment.ofAddress(Memory.getLong(cq + ContextTables.MUTEX_SHIFT + offset));
    }

    /**
     * Starts and ends a poll for each completion and does not use ibv_next_poll. When ibv_next_poll finds no
     * completion, Soft-RoCE has already ended the poll, and a second end would remove a completion that does not exist;
     * other drivers hold their lock until the end.
     */
    @Override
    public int poll(int count, long completions) {
        return poll(count, completions, 0);
    }

    @Override
    public int poll(int count, long completions, long extras) {
        for (int taken = 0; taken < count; taken++) {
            int result = (int) Downcalls.call(startPoll, cq, NO_ATTRIBUTES.address());
            if (result != 0) {
                // The next start returns an error again. EBUSY means that a driver could not read its wall clock now.
                boolean isEmpty = result == Errno.ENOENT || result == Errno.EBUSY;
                return taken > 0 || isEmpty ? taken : -Math.abs(result);
            }
            try {
                boolean done = read(completions + (long) taken * IbvWc.SIZE);
                if (extras != 0) {
                    readExtras(
                            done,
                            completions + (long) taken * IbvWc.SIZE,
                            extras + (long) taken * CompletionExtras.SIZE);
                }
            } finally {
                Downcalls.call(endPoll, cq);
            }
        }
        return count;
    }

    private void readExtras(boolean done, long completion, long to) {
        if (done) {
            extraFields.read(to);
            if (driverFields != null) {
                driverFields.read(completion, to);
            }
        } else {
            NativeCompletionExtras.clear(to);
        }
    }

    /**
     * Writes the current completion and returns whether it was a success. After a failure the other fields are not
     * valid, and reading them confuses some drivers.
     */
    private boolean read(long to) {
        int status = Memory.getInt(cq + ContextTables.MUTEX_SHIFT + IbvCqEx.STATUS);
        Memory.putLong(to + IbvWc.WR_ID, Memory.getLong(cq + ContextTables.MUTEX_SHIFT + IbvCqEx.WR_ID));
        Memory.putInt(to + IbvWc.STATUS, status);
        Memory.putInt(to + IbvWc.VENDOR_ERR, value(readVendorErr));
        Memory.putInt(to + IbvWc.QP_NUM, value(readQpNum));
        boolean done = status == IbvWcStatus.IBV_WC_SUCCESS;
        int flags = done ? value(readWcFlags) : 0;
        boolean hasWord = (flags & (IbvWcFlags.IBV_WC_WITH_IMM | IbvWcFlags.IBV_WC_WITH_INV)) != 0;
        Memory.putInt(to + IbvWc.WC_FLAGS, flags);
        Memory.putInt(to + IbvWc.OPCODE, done ? value(readOpcode) : 0);
        Memory.putInt(to + IbvWc.BYTE_LEN, done ? value(readByteLen) : 0);
        Memory.putInt(to + IbvWc.IMM_DATA, hasWord ? value(readImmData) : 0);
        Memory.putInt(to + IbvWc.SRC_QP, done ? value(readSrcQp) : 0);
        Memory.putShort(to + IbvWc.PKEY_INDEX, (short) 0); // no call reads it
        Memory.putShort(to + IbvWc.SLID, (short) (done && hasSender ? value(readSlid) : 0));
        Memory.putByte(to + IbvWc.SL, (byte) (done && hasSender ? value(readSl) : 0));
        Memory.putByte(to + IbvWc.DLID_PATH_BITS, (byte) (done ? value(readDlidPathBits) : 0));
        return done;
    }

    private int value(MemorySegment read) {
        return (int) Downcalls.call(read, cq);
    }

    @Override
    public int requestNotify(boolean solicitedOnly) {
        return plain.requestNotify(solicitedOnly);
    }
}
