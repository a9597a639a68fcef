package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteOrder;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.memory.Memory;

/**
 * What became of a work request ({@code struct ibv_wc}), read in place: a view into a batch. If the status isn't
 * {@link WorkCompletionStatus#SUCCESS}, only the work request id, the status, the queue pair number and the vendor
 * error are sure to be set.
 *
 * <p>For one thread at a time. Source: {@code man 3 ibv_poll_cq}.
 */
public final class WorkCompletion {

    private final MemorySegment memory;
    private long address;

    WorkCompletion(MemorySegment memory) {
        this.memory = memory;
        this.address = memory.address();
    }

    WorkCompletion moveTo(int index) {
        address = memory.address() + (long) index * IbvWc.SIZE;
        return this;
    }

    MemorySegment structure() {
        return memory.asSlice(address - memory.address(), IbvWc.SIZE);
    }

    private long longAt(int offset) {
        long value = Memory.getLong(address + offset);
        Reference.reachabilityFence(this); // the memory lives as long as this; so in the three below
        return value;
    }

    private int intAt(int offset) {
        int value = Memory.getInt(address + offset);
        Reference.reachabilityFence(this);
        return value;
    }

    private int shortAt(int offset) {
        int value = Short.toUnsignedInt(Memory.getShort(address + offset));
        Reference.reachabilityFence(this);
        return value;
    }

    private int byteAt(int offset) {
        int value = Byte.toUnsignedInt(Memory.getByte(address + offset));
        Reference.reachabilityFence(this);
        return value;
    }

    /** A copy that stays good when the batch is used again. */
    public WorkCompletion copy() {
        MemorySegment kept = Arena.ofAuto().allocate(IbvWc.SIZE, JAVA_LONG.byteAlignment());
        kept.copyFrom(structure());
        return new WorkCompletion(kept);
    }

    /** The id that the work request was posted with ({@code wr_id}). */
    public long workRequestId() {
        return longAt(IbvWc.WR_ID);
    }

    /** Whether it succeeded. */
    public boolean isSuccess() {
        return rawStatus() == 0;
    }

    /** How it ended ({@code status}); UNKNOWN keeps its number in {@link #rawStatus}. */
    public WorkCompletionStatus status() {
        return WorkCompletionStatus.of(rawStatus());
    }

    /** {@code enum ibv_wc_status}. */
    public int rawStatus() {
        return intAt(IbvWc.STATUS);
    }

    /**
     * What kind of request it was ({@code opcode}); UNKNOWN keeps its number in {@link #rawOpcode}. Only a success says
     * so: after a failure most devices leave any number there.
     */
    public WorkCompletionOpcode opcode() {
        return WorkCompletionOpcode.of(rawOpcode());
    }

    /** {@code enum ibv_wc_opcode}. */
    public int rawOpcode() {
        return intAt(IbvWc.OPCODE);
    }

    /** The device's own error number ({@code vendor_err}); 0 is none. */
    public int vendorError() {
        return intAt(IbvWc.VENDOR_ERR);
    }

    /**
     * Bytes that were received, read or returned by an atomic; for UD with the 40 bytes of the GRH ({@code byte_len}).
     */
    public long byteLength() {
        return Integer.toUnsignedLong(intAt(IbvWc.BYTE_LEN));
    }

    /** Whether immediate data came with it (IBV_WC_WITH_IMM). */
    public boolean hasImmediate() {
        return (flags() & IbvWcFlags.IBV_WC_WITH_IMM) != 0;
    }

    /** The immediate data as the number that the sender gave, host order; meaningless without {@link #hasImmediate}. */
    public int immediate() {
        int wire = intAt(IbvWc.IMM_DATA);
        return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? Integer.reverseBytes(wire) : wire;
    }

    /** Whether the peer's send with invalidate ended a key of ours (IBV_WC_WITH_INV). */
    public boolean hasInvalidatedRkey() {
        return (flags() & IbvWcFlags.IBV_WC_WITH_INV) != 0;
    }

    /** The key that was ended; meaningless without {@link #hasInvalidatedRkey}. */
    public int invalidatedRkey() {
        return intAt(IbvWc.INVALIDATED_RKEY);
    }

    /** Whether the first 40 bytes of the receive buffer hold a global routing header (IBV_WC_GRH). */
    public boolean hasGrh() {
        return (flags() & IbvWcFlags.IBV_WC_GRH) != 0;
    }

    /** {@code enum ibv_wc_flags}, as bits. */
    public int flags() {
        return intAt(IbvWc.WC_FLAGS);
    }

    /** Number of the local queue pair ({@code qp_num}), 24 bits. */
    public int queuePairNumber() {
        return intAt(IbvWc.QP_NUM);
    }

    /** Number of the sender's queue pair ({@code src_qp}); UD receives only. */
    public int sourceQueuePair() {
        return intAt(IbvWc.SRC_QP);
    }

    /** Index of the P_Key it came with ({@code pkey_index}); GSI queue pairs only. */
    public int pkeyIndex() {
        return shortAt(IbvWc.PKEY_INDEX);
    }

    /** The sender's LID ({@code slid}); UD receives on InfiniBand only. */
    public int sourceLid() {
        return shortAt(IbvWc.SLID);
    }

    /** Service level ({@code sl}); UD receives only. */
    public int serviceLevel() {
        return byteAt(IbvWc.SL);
    }

    /** The low bits of the destination LID ({@code dlid_path_bits}); UD receives on InfiniBand only. */
    public int destinationPathBits() {
        return byteAt(IbvWc.DLID_PATH_BITS);
    }

    /**
     * Returns this if it succeeded.
     *
     * @throws WorkCompletionException if it didn't. It names no operation: the id says which request it was
     */
    public WorkCompletion orThrow() {
        if (!isSuccess()) {
            throw new WorkCompletionException(
                    rawStatus(),
                    WorkCompletionOpcode.UNKNOWN.code(), // after a failure the field may hold anything
                    vendorError(),
                    queuePairNumber(),
                    workRequestId());
        }
        return this;
    }

    /** One line: id, status and queue pair; for a success also the operation and the bytes. */
    @Override
    public String toString() {
        String status = status() == WorkCompletionStatus.UNKNOWN ? "status " + rawStatus() : status().name();
        String opcode = opcode() == WorkCompletionOpcode.UNKNOWN ? "opcode " + rawOpcode() : opcode().name();
        String work = isSuccess() ? ", " + opcode + ", " + byteLength() + " bytes" : "";
        return "completion(id=" + workRequestId() + ", " + status + work + ", qpn=" + queuePairNumber() + ")";
    }
}
