package org.kverbs;

import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWrOpcode;

/**
 * The operation of a work completion: {@code enum ibv_wc_opcode}. The opcode is valid only in a successful completion;
 * after an error the field can hold any number.
 */
public enum WorkCompletionOpcode {
    /** {@code IBV_WC_SEND}: a send, with or without immediate or invalidate. */
    SEND(IbvWcOpcode.IBV_WC_SEND),
    /** {@code IBV_WC_RDMA_WRITE}: an RDMA write, with or without immediate. */
    RDMA_WRITE(IbvWcOpcode.IBV_WC_RDMA_WRITE),
    /** {@code IBV_WC_RDMA_READ}: an RDMA read. */
    RDMA_READ(IbvWcOpcode.IBV_WC_RDMA_READ),
    /** {@code IBV_WC_COMP_SWAP}: an atomic compare and swap. */
    COMP_SWAP(IbvWcOpcode.IBV_WC_COMP_SWAP),
    /** {@code IBV_WC_FETCH_ADD}: an atomic fetch and add. */
    FETCH_ADD(IbvWcOpcode.IBV_WC_FETCH_ADD),
    /** {@code IBV_WC_BIND_MW}: a memory window bind. */
    BIND_MW(IbvWcOpcode.IBV_WC_BIND_MW),
    /** {@code IBV_WC_LOCAL_INV}: a local invalidate. */
    LOCAL_INV(IbvWcOpcode.IBV_WC_LOCAL_INV),
    /** {@code IBV_WC_TSO}: a send with TCP segmentation. */
    TSO(IbvWcOpcode.IBV_WC_TSO),
    /** {@code IBV_WC_FLUSH}: a flush of remote memory (rdma-core 45). */
    FLUSH(PlacementExtensions.IBV_WC_FLUSH),
    /** {@code IBV_WC_ATOMIC_WRITE}: an atomic write of 8 bytes. */
    ATOMIC_WRITE(IbvWcOpcode.IBV_WC_ATOMIC_WRITE),
    /** {@code IBV_WC_RECV}: a receive, filled by a send. */
    RECV(IbvWcOpcode.IBV_WC_RECV),
    /** {@code IBV_WC_RECV_RDMA_WITH_IMM}: a receive, consumed by the peer's RDMA write with immediate. */
    RECV_RDMA_WITH_IMM(IbvWcOpcode.IBV_WC_RECV_RDMA_WITH_IMM),
    /** {@code IBV_WC_TM_ADD}: a tag was added to the matching list. */
    TM_ADD(IbvWcOpcode.IBV_WC_TM_ADD),
    /** {@code IBV_WC_TM_DEL}: a tag was taken from the matching list. */
    TM_DEL(IbvWcOpcode.IBV_WC_TM_DEL),
    /** {@code IBV_WC_TM_SYNC}: the tag matching list was synchronised. */
    TM_SYNC(IbvWcOpcode.IBV_WC_TM_SYNC),
    /** {@code IBV_WC_TM_RECV}: a message matched a tag and was received. */
    TM_RECV(IbvWcOpcode.IBV_WC_TM_RECV),
    /** {@code IBV_WC_TM_NO_TAG}: a message arrived that matched no tag. */
    TM_NO_TAG(IbvWcOpcode.IBV_WC_TM_NO_TAG),
    /** {@code IBV_WC_DRIVER1}: a provider's own operation, the first. */
    DRIVER1(IbvWcOpcode.IBV_WC_DRIVER1),
    /** {@code IBV_WC_DRIVER2}: a provider's own operation, the second. */
    DRIVER2(IbvWcOpcode.IBV_WC_DRIVER2),
    /** {@code IBV_WC_DRIVER3}: a provider's own operation, the third. */
    DRIVER3(IbvWcOpcode.IBV_WC_DRIVER3),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final WorkCompletionOpcode[] ALL = values();

    private final int code;

    WorkCompletionOpcode(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_wc_opcode} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns whether the completion consumed a receive: {@code opcode & IBV_WC_RECV}. */
    public boolean isReceive() {
        return this != UNKNOWN && (code & RECV.code) != 0;
    }

    /** Returns the opcode that the completion of a request has: {@code request} is an {@code enum ibv_wr_opcode}. */
    static WorkCompletionOpcode ofRequest(int request) {
        return switch (request) {
            case IbvWrOpcode.IBV_WR_SEND, IbvWrOpcode.IBV_WR_SEND_WITH_IMM, IbvWrOpcode.IBV_WR_SEND_WITH_INV -> SEND;
            case IbvWrOpcode.IBV_WR_RDMA_WRITE, IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM -> RDMA_WRITE;
            case IbvWrOpcode.IBV_WR_RDMA_READ -> RDMA_READ;
            case IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP -> COMP_SWAP;
            case IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD -> FETCH_ADD;
            case IbvWrOpcode.IBV_WR_LOCAL_INV -> LOCAL_INV;
            case IbvWrOpcode.IBV_WR_BIND_MW -> BIND_MW;
            case IbvWrOpcode.IBV_WR_ATOMIC_WRITE -> ATOMIC_WRITE;
            case PlacementExtensions.IBV_WR_FLUSH -> FLUSH;
            case IbvWrOpcode.IBV_WR_TSO -> TSO;
            default -> UNKNOWN;
        };
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static WorkCompletionOpcode of(int code) {
        for (WorkCompletionOpcode each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
