package org.kverbs;

import java.io.Serial;
import org.kverbs.internal.Refusal;

/**
 * A work request that was accepted by the device and then failed: a completion whose status is not success.
 *
 * <p>On a reliable connection the queue pair is in the error state after the first of them, and everything still queued
 * on it completes as flushed (IBA volume 1, section 10.10; ibv_poll_cq(3)).
 */
public class WorkCompletionException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final int rawStatus;
    private final int rawOpcode;
    private final int vendorError;
    private final int queuePairNumber;
    private final long workRequestId;

    /**
     * Describes a failed completion, in the terms of {@code struct ibv_wc}.
     *
     * @param rawStatus the {@code status} field, an {@code enum ibv_wc_status}
     * @param rawOpcode the {@code opcode} field, an {@code enum ibv_wc_opcode}, as the poster of the request knows it;
     *     -1 if it is not known, since devices need not fill the field of a failed completion
     * @param vendorError the {@code vendor_err} field
     * @param queuePairNumber the {@code qp_num} field: the local queue pair, 24 bits
     * @param workRequestId the {@code wr_id} field: the number that the request was posted with
     */
    public WorkCompletionException(int rawStatus, int rawOpcode, int vendorError, int queuePairNumber,
            long workRequestId) {
        super(describe(rawStatus, rawOpcode, vendorError, queuePairNumber, workRequestId));
        this.rawStatus = rawStatus;
        this.rawOpcode = rawOpcode;
        this.vendorError = vendorError;
        this.queuePairNumber = queuePairNumber;
        this.workRequestId = workRequestId;
    }

    /** Why it failed; {@code UNKNOWN} if this version does not know {@link #rawStatus()}. */
    public WorkCompletionStatus status() {
        return WorkCompletionStatus.of(rawStatus);
    }

    /** The number behind {@link #status()}, kept for statuses that this version does not know. */
    public int rawStatus() {
        return rawStatus;
    }

    /**
     * What the request was, as its poster knows it; UNKNOWN where that is not known. A device need not fill the opcode
     * of a failed completion: ibv_poll_cq(3) promises only id, status, queue pair number and vendor error.
     */
    public WorkCompletionOpcode opcode() {
        return WorkCompletionOpcode.of(rawOpcode);
    }

    /** The number behind {@link #opcode()}, kept for opcodes that this version does not know. */
    public int rawOpcode() {
        return rawOpcode;
    }

    /** A number whose meaning only the maker of the device knows; 0 if there is none. */
    public int vendorError() {
        return vendorError;
    }

    /** The local queue pair that the request was posted on. */
    public int queuePairNumber() {
        return queuePairNumber;
    }

    /** The id that the request was posted with, an opaque 64-bit number. */
    public long workRequestId() {
        return workRequestId;
    }

    private static String describe(int rawStatus, int rawOpcode, int vendorError, int queuePairNumber,
            long workRequestId) {
        WorkCompletionStatus status = WorkCompletionStatus.of(rawStatus);
        WorkCompletionOpcode opcode = WorkCompletionOpcode.of(rawOpcode);
        return "work request " + workRequestId
                + (opcode == WorkCompletionOpcode.UNKNOWN ? "" : " (" + opcode + ")") + " on queue pair "
                + queuePairNumber + " failed: "
                + (status == WorkCompletionStatus.UNKNOWN ? "status " + rawStatus : "IBV_WC_" + status)
                + ", vendor error 0x" + Integer.toHexString(vendorError)
                + (vendorError == Refusal.INJECTED ? " (a test injected it)" : "") + ": " + status.text();
    }
}
