package org.kverbs;

import org.kverbs.internal.abi.IbvWcStatus;

/**
 * The status of a completed work request: {@code enum ibv_wc_status} (IBA volume 1, section 11.6.2; ibv_poll_cq(3)).
 * {@link #text()} says what happened and what usually causes it.
 */
public enum WorkCompletionStatus {
    /** {@code IBV_WC_SUCCESS}: the work request succeeded. */
    SUCCESS(IbvWcStatus.IBV_WC_SUCCESS,
            "the operation completed"),
    /** {@code IBV_WC_LOC_LEN_ERR}: local length error. */
    LOC_LEN_ERR(IbvWcStatus.IBV_WC_LOC_LEN_ERR,
            "local length error: a receive was too short for the message, or a send longer than the port or the "
                    + "transport takes; give the receive more room, or send less"),
    /** {@code IBV_WC_LOC_QP_OP_ERR}: local queue pair operation error. */
    LOC_QP_OP_ERR(IbvWcStatus.IBV_WC_LOC_QP_OP_ERR,
            "local queue pair operation error: the device could not execute the request as it was posted; check "
                    + "opcode, flags, address handle and scatter list against what the queue pair can do"),
    /** {@code IBV_WC_LOC_EEC_OP_ERR}: local end-to-end context operation error (unused). */
    LOC_EEC_OP_ERR(IbvWcStatus.IBV_WC_LOC_EEC_OP_ERR,
            "local end-to-end context error: an error of reliable datagrams, a service that no device offers; suspect "
                    + "the driver"),
    /** {@code IBV_WC_LOC_PROT_ERR}: local protection error. */
    LOC_PROT_ERR(IbvWcStatus.IBV_WC_LOC_PROT_ERR,
            "local protection error: a local buffer is not covered by its lkey; check the lkey, that address and "
                    + "length lie inside the region, that the region is of the same protection domain, and for "
                    + "receives and reads that it allows LOCAL_WRITE"),
    /** {@code IBV_WC_WR_FLUSH_ERR}: flushed. */
    WR_FLUSH_ERR(IbvWcStatus.IBV_WC_WR_FLUSH_ERR,
            "flushed: the queue pair was in the error state and did not execute the request; the first completion with "
            + "another status tells why, and none does if the program or the peer ended the connection"),
    /** {@code IBV_WC_MW_BIND_ERR}: memory window bind error. */
    MW_BIND_ERR(IbvWcStatus.IBV_WC_MW_BIND_ERR,
            "memory window bind error: the window could not be bound; check that the region allows MW_BIND, that the "
                    + "range lies inside it, and that the window is of the type that the request needs"),
    /** {@code IBV_WC_BAD_RESP_ERR}: bad response. */
    BAD_RESP_ERR(IbvWcStatus.IBV_WC_BAD_RESP_ERR,
            "bad response: the peer answered with a packet that fits no request; usually a wrong peer queue pair "
                    + "number or sequence number, or two ends set up differently"),
    /** {@code IBV_WC_LOC_ACCESS_ERR}: local access error. */
    LOC_ACCESS_ERR(IbvWcStatus.IBV_WC_LOC_ACCESS_ERR,
            "local access error: a local buffer does not allow what arriving data needed; for an RDMA write with "
                    + "immediate, the peer's write was refused here"),
    /** {@code IBV_WC_REM_INV_REQ_ERR}: remote invalid request. */
    REM_INV_REQ_ERR(IbvWcStatus.IBV_WC_REM_INV_REQ_ERR,
            "remote invalid request: the peer refused the message as malformed; usually it does not fit the receive, "
                    + "or the operation is not enabled on the peer (access flags, or max reads and atomics of 0)"),
    /** {@code IBV_WC_REM_ACCESS_ERR}: remote access error. */
    REM_ACCESS_ERR(IbvWcStatus.IBV_WC_REM_ACCESS_ERR,
            "remote access error: the peer refused the access; check the rkey, that remote address and length lie "
                    + "inside its region, and that region and queue pair both allow the operation"),
    /** {@code IBV_WC_REM_OP_ERR}: remote operation error. */
    REM_OP_ERR(IbvWcStatus.IBV_WC_REM_OP_ERR,
            "remote operation error: the peer could not complete the request for a reason of its own; its receive may "
                    + "have had a bad lkey or buffer, so look at the peer's completions"),
    /** {@code IBV_WC_RETRY_EXC_ERR}: transport retries exceeded. */
    RETRY_EXC_ERR(IbvWcStatus.IBV_WC_RETRY_EXC_ERR,
            "transport retries exceeded: the peer never acknowledged; it is gone, not yet in RTR, or not reachable: "
                    + "check queue pair number, GID index or LID, path MTU, and the timeout and retry count"),
    /** {@code IBV_WC_RNR_RETRY_EXC_ERR}: receiver-not-ready retries exceeded. */
    RNR_RETRY_EXC_ERR(IbvWcStatus.IBV_WC_RNR_RETRY_EXC_ERR,
            "receiver-not-ready retries exceeded: the peer had no receive posted each time it was asked; post receives "
            + "earlier, or set the RNR retry count to 7, which never gives up"),
    /** {@code IBV_WC_LOC_RDD_VIOL_ERR}: local reliable datagram domain violation (unused). */
    LOC_RDD_VIOL_ERR(IbvWcStatus.IBV_WC_LOC_RDD_VIOL_ERR,
            "local reliable datagram domain violation: an error of reliable datagrams, a service that no device "
                    + "offers; suspect the driver"),
    /** {@code IBV_WC_REM_INV_RD_REQ_ERR}: remote invalid reliable datagram request (unused). */
    REM_INV_RD_REQ_ERR(IbvWcStatus.IBV_WC_REM_INV_RD_REQ_ERR,
            "remote invalid reliable datagram request: an error of reliable datagrams, a service that no device "
                    + "offers; suspect the driver"),
    /** {@code IBV_WC_REM_ABORT_ERR}: aborted by the peer. */
    REM_ABORT_ERR(IbvWcStatus.IBV_WC_REM_ABORT_ERR,
            "aborted by the peer: the peer gave the operation up, for UD usually because its receive queue was reset "
                    + "or stopped; look at the peer's state"),
    /** {@code IBV_WC_INV_EECN_ERR}: invalid end-to-end context number (unused). */
    INV_EECN_ERR(IbvWcStatus.IBV_WC_INV_EECN_ERR,
            "invalid end-to-end context number: an error of reliable datagrams, a service that no device offers; "
                    + "suspect the driver"),
    /** {@code IBV_WC_INV_EEC_STATE_ERR}: invalid end-to-end context state (unused). */
    INV_EEC_STATE_ERR(IbvWcStatus.IBV_WC_INV_EEC_STATE_ERR,
            "invalid end-to-end context state: an error of reliable datagrams, a service that no device offers; "
                    + "suspect the driver"),
    /** {@code IBV_WC_FATAL_ERR}: fatal error. */
    FATAL_ERR(IbvWcStatus.IBV_WC_FATAL_ERR,
            "fatal error: the device or the transport broke; look at the asynchronous events and the kernel log, and "
                    + "open the device again"),
    /** {@code IBV_WC_RESP_TIMEOUT_ERR}: response timed out. */
    RESP_TIMEOUT_ERR(IbvWcStatus.IBV_WC_RESP_TIMEOUT_ERR,
            "response timed out: no answer came in time to a request that needs one; check that the peer is alive and "
                    + "the timeout long enough"),
    /** {@code IBV_WC_GENERAL_ERR}: general error. */
    GENERAL_ERR(IbvWcStatus.IBV_WC_GENERAL_ERR,
            "general error: the provider reports a failure that fits no other status; its vendor error code says more"),
    /** {@code IBV_WC_TM_ERR}: tag matching error. */
    TM_ERR(IbvWcStatus.IBV_WC_TM_ERR,
            "tag matching error: an operation on the tag matching list failed; the list may be full, or out of step "
                    + "with the counter of unexpected messages"),
    /** {@code IBV_WC_TM_RNDV_INCOMPLETE}: tag matching rendezvous incomplete. */
    TM_RNDV_INCOMPLETE(IbvWcStatus.IBV_WC_TM_RNDV_INCOMPLETE,
            "tag matching rendezvous incomplete: a message met its tag, and the program has to fetch its data itself"),
    /** No C constant: a value that this release of kverbs has no name for. */
    UNKNOWN(-1,
            "an unknown status: this release of kverbs has no name for it; look the number up in verbs.h");

    private static final WorkCompletionStatus[] ALL = values();

    private final int code;
    private final String text;

    WorkCompletionStatus(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** Returns the number that {@code enum ibv_wc_status} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns one sentence in plain words: what happened, and what usually causes it or helps. */
    public String text() {
        return text;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static WorkCompletionStatus of(int code) {
        for (WorkCompletionStatus each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
