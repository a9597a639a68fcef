package org.kverbs;

import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.abi.IbvWrOpcode;

/** An operation of a send work request: {@code enum ibv_wr_opcode}. */
public enum WorkRequestOpcode {
    /** {@code IBV_WR_RDMA_WRITE}: {@link SendRequests#write}. */
    RDMA_WRITE(IbvWrOpcode.IBV_WR_RDMA_WRITE),
    /** {@code IBV_WR_RDMA_WRITE_WITH_IMM}: {@link SendRequests#writeWithImmediate}. */
    RDMA_WRITE_WITH_IMM(IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM),
    /** {@code IBV_WR_SEND}: {@link SendRequests#send}. */
    SEND(IbvWrOpcode.IBV_WR_SEND),
    /** {@code IBV_WR_SEND_WITH_IMM}: {@link SendRequests#sendWithImmediate}. */
    SEND_WITH_IMM(IbvWrOpcode.IBV_WR_SEND_WITH_IMM),
    /** {@code IBV_WR_RDMA_READ}: {@link SendRequests#read}. */
    RDMA_READ(IbvWrOpcode.IBV_WR_RDMA_READ),
    /** {@code IBV_WR_ATOMIC_CMP_AND_SWP}: {@link SendRequests#compareAndSwap}. */
    ATOMIC_CMP_AND_SWP(IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP),
    /** {@code IBV_WR_ATOMIC_FETCH_AND_ADD}: {@link SendRequests#fetchAndAdd}. */
    ATOMIC_FETCH_AND_ADD(IbvWrOpcode.IBV_WR_ATOMIC_FETCH_AND_ADD),
    /** {@code IBV_WR_LOCAL_INV}: {@link SendRequests#localInvalidate}. */
    LOCAL_INV(IbvWrOpcode.IBV_WR_LOCAL_INV),
    /** {@code IBV_WR_BIND_MW}: {@link SendRequests#bind}. */
    BIND_MW(IbvWrOpcode.IBV_WR_BIND_MW),
    /** {@code IBV_WR_SEND_WITH_INV}: {@link SendRequests#sendWithInvalidate}. */
    SEND_WITH_INV(IbvWrOpcode.IBV_WR_SEND_WITH_INV),
    /** {@code IBV_WR_TSO}: {@link SendRequests#sendSegmented}. */
    TSO(IbvWrOpcode.IBV_WR_TSO),
    /** {@code IBV_WR_FLUSH}: {@link SendRequests#flush} and {@link SendRequests#flushRegion} (rdma-core 45). */
    FLUSH(PlacementExtensions.IBV_WR_FLUSH),
    /** {@code IBV_WR_ATOMIC_WRITE}: {@link SendRequests#atomicWrite} (rdma-core 44). */
    ATOMIC_WRITE(IbvWrOpcode.IBV_WR_ATOMIC_WRITE);

    private final int code;

    WorkRequestOpcode(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_wr_opcode} gives this constant. */
    public int code() {
        return code;
    }
}
