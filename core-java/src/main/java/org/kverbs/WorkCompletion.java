package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteOrder;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.CompletionField;
import org.kverbs.attributes.Gid;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.abi.IbvWcTmInfo;
import org.kverbs.internal.jfr.FlightRecords;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionExtras;

/**
 * The completion of a work request ({@code struct ibv_wc}): a view into the memory of a batch. If the status is not
 * {@link WorkCompletionStatus#SUCCESS}, only the work request id, the status, the queue pair number and the vendor
 * error are valid.
 *
 * <p>For one thread at a time. Source: {@code man 3 ibv_poll_cq}.
 */
public final class WorkCompletion {

    private final MemorySegment memory;
    private long address;
    /** An array of {@link CompletionExtras}, as long as that of the completions; null if no queue gave such fields. */
    private @Nullable MemorySegment extras;
    /** The fields in {@link #extras} that are valid, a mask of {@code enum ibv_create_cq_wc_flags}. */
    private int extraFields;

    WorkCompletion(MemorySegment memory) {
        this.memory = memory;
        this.address = memory.address();
    }

    void extras(MemorySegment array) {
        extras = array;
    }

    void extraFields(int fields) {
        extraFields = fields;
    }

    WorkCompletion moveTo(int index) {
        address = memory.address() + (long) index * IbvWc.SIZE;
        return this;
    }

    MemorySegment structure() {
        return memory.asSlice(address - memory.address(), IbvWc.SIZE);
    }

    private long longAt(int offset) {
        try {
            return Memory.getLong(Memory.known(address) + offset);
        } finally {
            Reference.reachabilityFence(this); // keeps the memory alive during the read, as in the three methods below
        }
    }

    private int intAt(int offset) {
        try {
            return Memory.getInt(Memory.known(address) + offset);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private int shortAt(int offset) {
        try {
            return Short.toUnsignedInt(Memory.getShort(Memory.known(address) + offset));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private int byteAt(int offset) {
        try {
            return Byte.toUnsignedInt(Memory.getByte(Memory.known(address) + offset));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private int index() {
        return (int) ((address - memory.address()) / IbvWc.SIZE);
    }

    /** Returns the address of a field that the queue must have been made with. */
    private long extra(CompletionField field, int offset) {
        MemorySegment array = extras;
        if (array == null || (extraFields & field.bit()) == 0) {
            throw new IllegalStateException("the completion queue was made without the field " + field
                    + ": make it with completionQueue { fields(" + field + ") }, or with CompletionQueueOptions.with("
                    + field + ")");
        }
        return array.address() + (long) index() * CompletionExtras.SIZE + offset;
    }

    private long longExtra(CompletionField field, int offset) {
        try {
            return Memory.getLong(extra(field, offset));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private int intExtra(CompletionField field, int offset) {
        try {
            return Memory.getInt(extra(field, offset));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Returns whether the completion queue was made with a field, so that its getter here throws no exception. */
    public boolean has(CompletionField field) {
        return (extraFields & field.bit()) != 0;
    }

    /** Returns a copy that stays valid when the batch is used again. */
    public WorkCompletion copy() {
        MemorySegment kept = Arena.ofAuto().allocate(IbvWc.SIZE, JAVA_LONG.byteAlignment());
        kept.copyFrom(structure());
        var copy = new WorkCompletion(kept);
        MemorySegment array = extras;
        if (array != null && extraFields != 0) {
            MemorySegment own = Arena.ofAuto().allocate(CompletionExtras.SIZE, JAVA_LONG.byteAlignment());
            own.copyFrom(array.asSlice((long) index() * CompletionExtras.SIZE, CompletionExtras.SIZE));
            copy.extras = own;
            copy.extraFields = extraFields;
        }
        return copy;
    }

    /** Returns the id that the work request was posted with ({@code wr_id}). */
    public long workRequestId() {
        return longAt(IbvWc.WR_ID);
    }

    /** Returns whether the work request succeeded. */
    public boolean isSuccess() {
        return rawStatus() == 0;
    }

    /** Returns the status ({@code status}), or UNKNOWN if {@link #rawStatus} has no name. */
    public WorkCompletionStatus status() {
        return WorkCompletionStatus.of(rawStatus());
    }

    /** Returns the number of {@link #status}: {@code enum ibv_wc_status}. */
    public int rawStatus() {
        return intAt(IbvWc.STATUS);
    }

    /**
     * Returns the operation ({@code opcode}), or UNKNOWN if {@link #rawOpcode} has no name. It is valid only after a
     * success: after a failure most devices leave any number in the field.
     */
    public WorkCompletionOpcode opcode() {
        return WorkCompletionOpcode.of(rawOpcode());
    }

    /** Returns the number of {@link #opcode}: {@code enum ibv_wc_opcode}. */
    public int rawOpcode() {
        return intAt(IbvWc.OPCODE);
    }

    /** Returns the device's own error number ({@code vendor_err}); 0 for none. */
    public int vendorError() {
        return intAt(IbvWc.VENDOR_ERR);
    }

    /**
     * Returns how many bytes were received, read or returned by an atomic ({@code byte_len}). For UD this includes the
     * 40 bytes of the GRH.
     */
    public long byteLength() {
        return Integer.toUnsignedLong(intAt(IbvWc.BYTE_LEN));
    }

    /** Returns whether the message carried immediate data (IBV_WC_WITH_IMM). */
    public boolean hasImmediate() {
        return (flags() & IbvWcFlags.IBV_WC_WITH_IMM) != 0;
    }

    /**
     * Returns the immediate data as a number in host order, as the sender gave it. Valid only if {@link #hasImmediate}.
     */
    public int immediate() {
        int wire = intAt(IbvWc.IMM_DATA);
        return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? Integer.reverseBytes(wire) : wire;
    }

    /** Returns whether the peer's send with invalidate invalidated a local key (IBV_WC_WITH_INV). */
    public boolean hasInvalidatedRkey() {
        return (flags() & IbvWcFlags.IBV_WC_WITH_INV) != 0;
    }

    /** Returns the key that was invalidated. Valid only if {@link #hasInvalidatedRkey}. */
    public int invalidatedRkey() {
        return intAt(IbvWc.INVALIDATED_RKEY);
    }

    /** Returns whether the first 40 bytes of the receive buffer hold a global routing header (IBV_WC_GRH). */
    public boolean hasGrh() {
        return (flags() & IbvWcFlags.IBV_WC_GRH) != 0;
    }

    /** Returns whether a message took a buffer of a {@link TagList} (IBV_WC_TM_MATCH). */
    public boolean isTagMatched() {
        return (flags() & IbvWcFlags.IBV_WC_TM_MATCH) != 0;
    }

    /** Returns whether all data of a message with a matched tag is in memory (IBV_WC_TM_DATA_VALID). */
    public boolean hasTagData() {
        return (flags() & IbvWcFlags.IBV_WC_TM_DATA_VALID) != 0;
    }

    /**
     * Returns whether the device waits to hear how many unexpected messages the program has handled
     * (IBV_WC_TM_SYNC_REQ): {@link TagList#sync}.
     */
    public boolean needsTagSync() {
        return (flags() & IbvWcFlags.IBV_WC_TM_SYNC_REQ) != 0;
    }

    /** Returns the flags of the completion, bits of {@code enum ibv_wc_flags}. */
    public int flags() {
        return intAt(IbvWc.WC_FLAGS);
    }

    /** Returns the number of the local queue pair, 24 bits ({@code qp_num}). */
    public int queuePairNumber() {
        return intAt(IbvWc.QP_NUM);
    }

    /** Returns the number of the sender's queue pair ({@code src_qp}). Valid only for UD receives. */
    public int sourceQueuePair() {
        return intAt(IbvWc.SRC_QP);
    }

    /** Returns the index of the message's P_Key ({@code pkey_index}). Valid only for GSI queue pairs. */
    public int pkeyIndex() {
        return shortAt(IbvWc.PKEY_INDEX);
    }

    /** Returns the sender's LID ({@code slid}). Valid only for UD receives on InfiniBand. */
    public int sourceLid() {
        return shortAt(IbvWc.SLID);
    }

    /** Returns the service level ({@code sl}). Valid only for UD receives. */
    public int serviceLevel() {
        return byteAt(IbvWc.SL);
    }

    /**
     * Returns the low bits of the destination LID ({@code dlid_path_bits}). Valid only for UD receives on InfiniBand.
     */
    public int destinationPathBits() {
        return byteAt(IbvWc.DLID_PATH_BITS);
    }

    /**
     * Returns when the device completed the request, in ticks of its own clock, unsigned ({@code
     * ibv_wc_read_completion_ts}). Valid only after a success. {@link Context#queryClock} reads the same clock; {@code
     * DeviceAttributesEx.hcaCoreClock} is its frequency in kHz, and {@code completionTimestampMask} its valid bits.
     *
     * @throws IllegalStateException if the queue was made without {@link CompletionField#TIMESTAMP}
     */
    public long completionTimestamp() {
        return longExtra(CompletionField.TIMESTAMP, CompletionExtras.TIMESTAMP);
    }

    /**
     * Returns when the device completed the request, in nanoseconds since 1970 ({@code
     * ibv_wc_read_completion_wallclock_ns}). Valid only after a success. An embedded device on a virtual clock counts
     * from 1970.
     *
     * @throws IllegalStateException if the queue was made without {@link CompletionField#WALL_CLOCK}
     */
    public long wallClockNanos() {
        return longExtra(CompletionField.WALL_CLOCK, CompletionExtras.WALL_CLOCK);
    }

    /** Returns {@link #wallClockNanos} as a new {@link Instant}. */
    public Instant wallClock() {
        long nanos = wallClockNanos();
        return Instant.ofEpochSecond(nanos / 1_000_000_000, nanos % 1_000_000_000);
    }

    /**
     * Returns the tag of the customer's VLAN that the packet came with, 16 bits ({@code ibv_wc_read_cvlan}). Valid only
     * for receives.
     *
     * @throws IllegalStateException if the queue was made without {@link CompletionField#CUSTOMER_VLAN}
     */
    public int customerVlan() {
        return intExtra(CompletionField.CUSTOMER_VLAN, CompletionExtras.CUSTOMER_VLAN);
    }

    /**
     * Returns the tag of the steering rule that the packet matched; 0 for none ({@code ibv_wc_read_flow_tag}). Valid
     * only for receives.
     *
     * @throws IllegalStateException if the queue was made without {@link CompletionField#FLOW_TAG}
     */
    public int flowTag() {
        return intExtra(CompletionField.FLOW_TAG, CompletionExtras.FLOW_TAG);
    }

    /**
     * Returns the tag of a message that came to a shared receive queue with tag matching ({@code tag} of {@code
     * ibv_wc_read_tm_info}).
     *
     * @throws IllegalStateException if the queue was made without {@link CompletionField#TAG_INFO}
     */
    public long matchedTag() {
        return longExtra(CompletionField.TAG_INFO, CompletionExtras.TAG_INFO + IbvWcTmInfo.TAG);
    }

    /**
     * Returns the sender's own 32 bits of such a message ({@code priv} of {@code ibv_wc_read_tm_info}).
     *
     * @throws IllegalStateException if the queue was made without {@link CompletionField#TAG_INFO}
     */
    public int matchedTagData() {
        return intExtra(CompletionField.TAG_INFO, CompletionExtras.TAG_INFO + IbvWcTmInfo.PRIV);
    }

    /**
     * Returns the GID of a sender for whom the domain has no address handle ({@code efadv_wc_read_sgid}); null if it
     * has one, and for sends. Valid only after a success, on a queue of the driver efa that was made for it.
     *
     * @throws IllegalStateException if the queue was made without it
     */
    public @Nullable Gid sourceGid() {
        requireOfDriver(CompletionExtras.WITH_SOURCE_GID, "source GID");
        if ((marks() & CompletionExtras.WITH_SOURCE_GID) == 0) {
            return null;
        }
        var gid = new byte[Long.BYTES * 2];
        MemorySegment.copy(
                Objects.requireNonNull(extras), JAVA_BYTE,
                (long) index() * CompletionExtras.SIZE + CompletionExtras.SOURCE_GID, gid, 0, gid.length);
        return Gid.of(gid);
    }

    /**
     * Returns whether the receive has no request of its own, so that its id is of none ({@code
     * efadv_wc_is_unsolicited}). Valid only after a success, on a queue of the driver efa that was made for it.
     *
     * @throws IllegalStateException if the queue was made without it
     */
    public boolean isUnsolicited() {
        requireOfDriver(CompletionExtras.WITH_UNSOLICITED, "mark of unsolicited receives");
        return (marks() & CompletionExtras.WITH_UNSOLICITED) != 0;
    }

    private void requireOfDriver(int field, String name) {
        if ((extraFields & field) == 0) {
            throw new IllegalStateException("the completion queue was made without the " + name
                    + ": a queue of the driver efa has it, EfaDevice.completionQueue of kverbs-efa");
        }
    }

    private int marks() {
        return Objects.requireNonNull(extras)
                .get(JAVA_INT, (long) index() * CompletionExtras.SIZE + CompletionExtras.MARKS);
    }

    /**
     * Returns this completion if the work request succeeded. A failure, except of a flushed request, is also an event
     * {@code org.kverbs.CompletionError} of Java Flight Recorder.
     *
     * @throws WorkCompletionException if it failed. The exception names no operation, since the device need not give
     *     it; the id identifies the request
     */
    public WorkCompletion orThrow() {
        if (!isSuccess()) {
            var failure = new WorkCompletionException(
                    rawStatus(),
                    WorkCompletionOpcode.UNKNOWN.code(), // after a failure the field can hold any number
                    vendorError(),
                    queuePairNumber(),
                    workRequestId());
            if (failure.status() != WorkCompletionStatus.WR_FLUSH_ERR) {
                FlightRecords.completionError(
                        null, queuePairNumber(), workRequestId(), status().name(), null, vendorError());
            }
            throw failure;
        }
        return this;
    }

    /** Returns one line: id, status and queue pair, and for a success also the operation and the number of bytes. */
    @Override
    public String toString() {
        String status = status() == WorkCompletionStatus.UNKNOWN ? "status " + rawStatus() : status().name();
        String opcode = opcode() == WorkCompletionOpcode.UNKNOWN ? "opcode " + rawOpcode() : opcode().name();
        String work = isSuccess() ? ", " + opcode + ", " + byteLength() + " bytes" : "";
        return "completion(id=" + workRequestId() + ", " + status + work + ", qpn=" + queuePairNumber() + ")";
    }
}
