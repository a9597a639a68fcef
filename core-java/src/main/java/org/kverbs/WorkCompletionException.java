package org.kverbs;

import java.io.Serial;
import org.kverbs.internal.Refusal;

/**
 * Reports a work request that the device accepted and that failed later: a completion whose status is not success.
 *
 * <p>On a reliable connection the first failure moves the queue pair to the error state, and all requests still queued
 * on it complete as flushed (IBA volume 1, section 10.10; ibv_poll_cq(3)).
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
     * @param rawOpcode the {@code opcode} field, an {@code enum ibv_wc_opcode}, if the poster of the request knows it;
     *     otherwise -1, since devices need not fill the field of a failed completion
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

    /** Returns the reason of the failure, or UNKNOWN if {@link #rawStatus()} has no name. */
    public WorkCompletionStatus status() {
        return WorkCompletionStatus.of(rawStatus);
    }

    /** Returns the number of {@link #status()}: {@code enum ibv_wc_status}. */
    public int rawStatus() {
        return rawStatus;
    }

    /**
     * Returns the operation of the request if its poster gave it, otherwise UNKNOWN. A device need not fill the opcode
     * of a failed completion: ibv_poll_cq(3) promises only id, status, queue pair number and vendor error.
     */
    public WorkCompletionOpcode opcode() {
        return WorkCompletionOpcode.of(rawOpcode);
    }

    /** Returns the number of {@link #opcode()}: {@code enum ibv_wc_opcode}; -1 if it is not known. */
    public int rawOpcode() {
        return rawOpcode;
    }

    /** Returns the error number of the device's maker; 0 for none. */
    public int vendorError() {
        return vendorError;
    }

    /** Returns the number of the local queue pair that the request was posted on. */
    public int queuePairNumber() {
        return queuePairNumber;
    }

    /** Returns the id that the request was posted with. */
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
